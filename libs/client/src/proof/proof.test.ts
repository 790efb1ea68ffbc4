import { createChallenge, verifySolution } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/web/pbkdf2'
import { expect } from 'chai'
import { buildClient, home } from '../../test/harness.ts'
import { isAborted } from '../api/errors.ts'
import { ProofImpossible, solveProof } from './index.ts'

const address = `GET ${home}/api/auth/challenge`
const secrets = { hmacSignatureSecret: 'one', hmacKeySignatureSecret: 'two' }

/** As the server makes it: the counter to find is 7 of at most 10. */
const makeChallenge = (cost = 10) =>
  createChallenge({ algorithm: 'PBKDF2/SHA-512', cost, counter: 7, data: { counterMax: 10 }, deriveKey, ...secrets })

/** Contract: 3, Proof of work. */
describe('Proof of work', () => {
  it('is solved so that the server accepts it, and tells how far it is', async () => {
    const { client, network } = buildClient()
    const challenge = await makeChallenge()
    network.answer(address, { body: challenge })
    const progress: number[] = []

    const proof = await solveProof(client, { onProgress: (share) => progress.push(share) })

    const payload = JSON.parse(atob(proof)) as Pick<Parameters<typeof verifySolution>[0], 'challenge' | 'solution'>
    expect(payload.challenge).to.deep.equal(JSON.parse(JSON.stringify(challenge)))
    expect(await verifySolution({ ...payload, deriveKey, ...secrets })).to.include({ verified: true })
    expect(progress).to.deep.equal([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
  })

  it('ends when it is aborted, before and meanwhile', async () => {
    const { client, network } = buildClient()
    network.answer(address, { body: await makeChallenge() })
    const aborting = new AbortController()

    const meanwhile = solveProof(client, { signal: aborting.signal, onProgress: () => aborting.abort() })

    expect(isAborted(await meanwhile.catch((error: unknown) => error))).to.equal(true)
    expect(isAborted(await solveProof(client, { signal: aborting.signal }).catch((error: unknown) => error))).to.equal(
      true,
    )
  })

  it('is impossible without the cryptography of a secure context, and then asks for nothing', async () => {
    const { client, network } = buildClient()
    const whole = Object.getOwnPropertyDescriptor(globalThis, 'crypto') as PropertyDescriptor
    Object.defineProperty(globalThis, 'crypto', { value: {}, configurable: true })
    const failure = await solveProof(client).catch((error: unknown) => error)
    Object.defineProperty(globalThis, 'crypto', whole)

    expect(failure).to.be.instanceOf(ProofImpossible)
    expect(network.sent).to.have.length(0)
  })
})
