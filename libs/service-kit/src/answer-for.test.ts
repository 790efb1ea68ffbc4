import { commonErrors } from '@gatehouse/runtime'
import { expect } from 'chai'
import { answerFor } from './answer-for.ts'

describe('Errors: the answer for a thrown value', () => {
  const withFields = (fields: object, message = 'inner words') => Object.assign(new Error(message), fields)

  it('is the refusal itself, which is no fault', () => {
    const refusal = commonErrors.conflict()

    expect(answerFor(refusal)).to.deep.equal({ refusal, fault: false })
  })

  it('keeps the status of what a parser refuses, in our words', () => {
    const answers = [400, 404, 405, 413, 415].map((status) => answerFor(withFields({ status })))

    expect(answers.map(({ refusal }) => refusal.status)).to.deep.equal([400, 404, 405, 413, 415])
    expect(answers.map(({ fault }) => fault)).to.deep.equal(Array(5).fill(false))
    expect(answers.map(({ refusal }) => refusal.message)).to.not.include('inner words')
    expect(answerFor(withFields({ code: 'Z_DATA_ERROR' })).refusal.status).to.equal(400)
  })

  it('is 503 with Retry-After while something it stands on is away, also deep inside', () => {
    const faults = [
      withFields({ name: 'BusUnavailable' }),
      withFields({ name: 'StoreUnavailable' }),
      withFields({ code: 'ECONNREFUSED' }),
      withFields({ code: '57P01' }),
      new Error('Client has encountered a connection error and is not queryable'),
      new Error('query failed', { cause: withFields({ code: '53300' }) }),
      new AggregateError([withFields({ code: 'ECONNREFUSED' })], 'no address answers'),
      new Error('Connection terminated unexpectedly'),
      new Error('timeout exceeded when trying to connect'),
    ]
    const answers = faults.map(answerFor)

    expect(answers.map(({ refusal }) => refusal.status)).to.deep.equal(faults.map(() => 503))
    expect(answers.map(({ refusal }) => refusal.headers)).to.deep.equal(faults.map(() => ({ 'Retry-After': '1' })))
    expect(answers.every(({ fault }) => fault)).to.equal(true)
  })

  it('is a 500 without details for everything else, whatever was thrown', () => {
    const thrown = [
      new Error('select'),
      withFields({ status: 418 }),
      withFields({ status: 'x' }),
      'text',
      null,
      undefined,
    ]

    for (const value of thrown) {
      const { refusal, fault } = answerFor(value)
      expect(refusal.body).to.deep.equal({ error: 'Internal server error', statusCode: 500 })
      expect(fault).to.equal(true)
    }
  })
})
