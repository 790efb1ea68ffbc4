import { fitsHash } from '@gatehouse/contracts/constants'
import { anyCharacter } from '@gatehouse/test-kit/any-character'
import { expect } from 'chai'
import fc from 'fast-check'
import { fitsInAForm, hashedForm } from './password-forms.ts'

const composed = 'Caf\u00e9 \u00c5ngstr\u00f6m'
const decomposed = composed.normalize('NFD')

async function formsOf(password: string): Promise<string[]> {
  const compared: string[] = []
  await fitsInAForm(password, async (form) => compared.push(form) === 0)
  return compared
}

describe('the forms of a password', () => {
  it('are hashed as NFC, but where it is too long', () => {
    /** A Hebrew letter that NFC takes apart: of 3 bytes it makes 4. */
    const growing = '\ufb1d'.repeat(24)

    expect(hashedForm(decomposed)).to.equal(composed)
    expect(hashedForm(composed)).to.equal(composed)
    expect(hashedForm(growing)).to.equal(growing)
  })

  it('are compared as typed, and then in the other normal form', async () => {
    expect(await formsOf(composed)).to.deep.equal([composed, decomposed])
    expect(await formsOf(decomposed)).to.deep.equal([decomposed, composed])
    expect(await formsOf(decomposed + composed)).to.deep.equal([decomposed + composed, composed + composed])
    expect(await formsOf('correct horse \u20ac')).to.deep.equal(['correct horse \u20ac'])
  })

  it('fit only where bcrypt reads the whole', async () => {
    const beginningFits = async () => true

    expect(await fitsInAForm('e\u0301'.repeat(30), beginningFits)).to.equal(true)
    expect(await fitsInAForm('\u00e9'.repeat(37), beginningFits)).to.equal(false)
    expect(await fitsInAForm('x'.repeat(73), beginningFits)).to.equal(false)
  })

  it('have what is hashed among what fits, for every password that is accepted', async () => {
    const accepted = fc.string({ unit: anyCharacter, maxLength: 72 }).filter(fitsHash)
    await fc.assert(
      fc.asyncProperty(accepted, async (password) => {
        const hashed = hashedForm(password)
        expect(await fitsInAForm(password, async (form) => form === hashed)).to.equal(true)
      }),
    )
  })
})
