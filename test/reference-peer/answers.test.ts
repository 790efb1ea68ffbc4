import { expect } from 'chai'
import { openNetwork, secretOfPage, startOfTime } from './network.ts'
import { signatureOf } from './signature.ts'

const body = '{"instanceId":"5b0f2f6e-6d0b-4a53-9a3f-3c2b1f0d9e11"}'

type Given = { secret?: string; timestamp?: number; nonce?: string | null; status?: number; origin?: string }

/** Whether an epoch answer that is signed so proves the secret to the one who asked. */
async function isProofWhen(given: Given): Promise<unknown> {
  await using network = openNetwork()
  const asker = await network.start('asker.example', { newSecret: () => secretOfPage })
  const asked = await network.start('asked.example')
  const [timestamp, nonce] = [String(given.timestamp ?? startOfTime), given.nonce === undefined ? 'n' : given.nonce]
  const headers = {
    'x-federation-signature': signatureOf(given.secret ?? secretOfPage, { timestamp, nonce, body }),
    'x-federation-timestamp': timestamp,
    ...(nonce === null ? {} : { 'x-federation-nonce': nonce }),
    ...(given.origin === undefined ? {} : { 'x-federation-origin': given.origin }),
  }
  asked.addFault({ path: '/api/federation/epoch', answer: { status: given.status ?? 200, body, headers } })
  return (await asker.initiate(asked.origin)).body.verified
}

describe('signed answers (wire: 1)', () => {
  it('count with any 2xx, without a nonce, and whatever origin they name', async () => {
    const proofs = [
      await isProofWhen({}),
      await isProofWhen({ status: 201 }),
      await isProofWhen({ nonce: null }),
      await isProofWhen({ origin: 'https://else.example' }),
      await isProofWhen({ timestamp: startOfTime - 900_000 }),
    ]

    expect(proofs).to.deep.equal([true, true, true, true, true])
  })

  it('do not count when they are stale, signed with another secret, or errors', async () => {
    const proofs = [
      await isProofWhen({ timestamp: startOfTime - 900_001 }),
      await isProofWhen({ timestamp: startOfTime + 900_001 }),
      await isProofWhen({ secret: 'another' }),
      await isProofWhen({ status: 403 }),
    ]

    expect(proofs).to.deep.equal([false, false, false, false])
  })
})
