import { Unavailable, refuse, toErrorResponse } from '@gatehouse/runtime'
import { expect } from 'chai'
import { asRefusal } from './input.ts'

describe('Errors: the response to a thrown value', () => {
  const withFields = (fields: object, message = 'inner words') => Object.assign(new Error(message), fields)
  const responseTo = (error: unknown) => toErrorResponse(asRefusal(error))

  it('is the refusal itself, which is no fault', () => {
    const refusal = refuse.username_taken()

    expect(responseTo(refusal)).to.deep.equal({ refusal, fault: false })
  })

  it('keeps the status of what a parser refuses, with a message of its own', () => {
    const responses = [400, 404, 405, 413, 415].map((status) => responseTo(withFields({ status })))

    expect(responses.map(({ refusal }) => refusal.status)).to.deep.equal([400, 404, 405, 413, 415])
    expect(responses.map(({ fault }) => fault)).to.deep.equal(Array(5).fill(false))
    expect(responses.map(({ refusal }) => refusal.message)).to.not.include('inner words')
  })

  it('is 503 with Retry-After while a dependency is unavailable, by its class alone', () => {
    class DatabaseAway extends Unavailable {}
    const faults = [new Unavailable('away'), new DatabaseAway('away', { retryAfterSeconds: 3 })]
    const lookalikes = [withFields({ name: 'BusUnavailable' }), new Error('Connection terminated unexpectedly')]

    expect(faults.map((fault) => responseTo(fault).refusal.status)).to.deep.equal([503, 503])
    expect(faults.map((fault) => responseTo(fault).refusal.headers)).to.deep.equal([
      { 'Retry-After': '1' },
      { 'Retry-After': '3' },
    ])
    expect(faults.every((fault) => responseTo(fault).fault)).to.equal(true)
    expect(lookalikes.map((fault) => responseTo(fault).refusal.status)).to.deep.equal([500, 500])
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
      const { refusal, fault } = responseTo(value)
      expect(refusal.body).to.deep.equal({ error: 'Internal server error', statusCode: 500, code: 'internal' })
      expect(fault).to.equal(true)
    }
  })
})
