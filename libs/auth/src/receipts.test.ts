import { expect } from 'chai'
import { createReceiptKeys, isReceiptGenuine, signReceipt } from './receipts.ts'

const secret = 'a secret that encrypts, of 32 characters'
const receipt = { homeUserId: '7', mode: 'full' as const, deletedAt: 1_770_000_000_000, origin: 'https://b.example' }

/** Contract: 7, Receipts. */
describe('The receipt of a deletion', () => {
  const keys = createReceiptKeys(secret)
  const [publicKey = ''] = keys.published
  const signed = { ...signReceipt(keys, receipt), publicKey }

  it('is genuine in whatever order its fields come, and the same from each replica', () => {
    const { origin, deletedAt, mode, homeUserId } = receipt
    const turned = { ...signed, receipt: { origin, deletedAt, mode, homeUserId } }

    expect([isReceiptGenuine(signed), isReceiptGenuine(turned)]).to.deep.equal([true, true])
    expect(signReceipt(createReceiptKeys(secret), receipt).signature).to.equal(signed.signature)
  })

  it('is not genuine with any field changed, by another key or by none, and with what is not of base64url', () => {
    const other = createReceiptKeys(`another ${secret}`).published[0]!
    const changed = [
      { ...signed, receipt: { ...receipt, homeUserId: '8' } },
      { ...signed, receipt: { ...receipt, mode: 'soft' as const } },
      { ...signed, receipt: { ...receipt, deletedAt: 1 } },
      { ...signed, receipt: { ...receipt, origin: 'https://c.example' } },
      { ...signed, publicKey: other },
      { ...signed, publicKey: 'no key' },
      { ...signed, signature: '' },
      { ...signed, signature: `${signed.signature}\0` },
      { ...signed, signature: `${signed.signature}==` },
      { ...signed, publicKey: `${publicKey}\0` },
    ]

    expect(changed.filter(isReceiptGenuine)).to.deep.equal([])
  })

  it('stays genuine by a published key after the secret was rotated', () => {
    const rotated = createReceiptKeys('the next secret, of 32 characters or more', [secret])

    expect(rotated.published).to.have.length(2)
    expect(rotated.published[1]).to.equal(publicKey)
    expect(rotated.published[0]).to.not.equal(publicKey)
  })
})
