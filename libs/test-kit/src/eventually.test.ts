import { expect } from 'chai'
import { eventually } from './eventually.ts'

describe('eventually', () => {
  it('gives the first truthy thing, passing over failures on the way', async () => {
    const answers = [() => undefined, () => Promise.reject(new Error('not yet')), () => 'here']

    expect(await eventually('an answer', () => answers.shift()?.())).to.equal('here')
  })

  it('fails with what was awaited and why the last look failed', async () => {
    const look = () => Promise.reject(new Error('closed'))

    const failure = (await eventually('the connection opens', look, 30).catch((error: unknown) => error)) as Error

    expect(failure.message).to.equal('Not within 30 ms: the connection opens')
    expect(failure.cause).to.have.property('message', 'closed')
  })
})
