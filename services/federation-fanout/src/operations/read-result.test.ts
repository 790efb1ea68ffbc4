import { expect } from 'chai'
import fc from 'fast-check'
import { fanoutResult } from '@gatehouse/contracts'
import { readFailure, readResult } from './delete-at-peers.ts'

const answer = (status: number, body: unknown) => ({ status, headers: {}, body: Buffer.from(JSON.stringify(body)) })

describe('federation-identity/delete: the result at another instance', () => {
  it('is a success only when the instance says so', () => {
    expect(readResult(answer(200, { success: true }))).to.deep.equal({ success: true })
    expect(readResult(answer(200, { success: 'true' }))).to.include({ success: false })
    expect(readResult(answer(200, {}))).to.include({ success: false })
    expect(readResult(answer(201, { success: true }))).to.include({ success: false })
  })

  it('names owned spaces, and is not fooled by a list that is none', () => {
    const spaces = [{ id: '1', name: 'Garden' }]
    const owning = { success: false, error: 'owns_spaces' }

    expect(readResult(answer(409, { error: 'owns_spaces', ownedSpaces: spaces }))).to.deep.equal({
      ...owning,
      ownedSpaces: spaces,
    })
    expect(readResult(answer(409, { error: 'You own spaces', ownedSpaces: spaces }))).to.deep.equal({
      ...owning,
      ownedSpaces: spaces,
    })
    expect(readResult(answer(409, { error: 'owns_spaces', ownedSpaces: 'all' }))).to.deep.equal({
      ...owning,
      ownedSpaces: [],
    })
    expect(readResult(answer(409, { error: 'Nonce used' }))).to.deep.equal({ success: false, error: 'Nonce used' })
  })

  it('is one that the contract knows, whatever was answered', () => {
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), fc.jsonValue(), (status, body) => {
        return fanoutResult.safeParse(readResult(answer(status, body))).success
      }),
    )
  })

  it('without an answer tells a timeout from an instance that cannot be reached', () => {
    const kinds = ['timeout', 'unreachable', 'forbidden_address', 'invalid_url'] as const

    const errors = kinds.map((kind) => readFailure(kind)).map((result) => 'error' in result && result.error)

    expect(errors).to.deep.equal(['timeout', 'unreachable', 'unreachable', 'unreachable'])
  })
})
