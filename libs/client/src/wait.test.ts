import { expect } from 'chai'
import { anySignal } from './wait.ts'

const native = Object.getOwnPropertyDescriptor(AbortSignal, 'any')!

for (const [platform, setUp] of [
  ['a platform that has it', () => Object.defineProperty(AbortSignal, 'any', native)],
  ['one that lacks it', () => Reflect.deleteProperty(AbortSignal, 'any')],
] as const) {
  describe(`a signal of several on ${platform}`, () => {
    beforeEach(setUp)
    after(() => Object.defineProperty(AbortSignal, 'any', native))

    it('aborts with the first of them, for its reason', () => {
      const [one, other] = [new AbortController(), new AbortController()]
      const any = anySignal(one.signal, other.signal)
      expect(any.aborted).to.equal(false)

      other.abort('the other')
      const first = [any.aborted, any.reason]
      one.abort('too late')

      expect([...first, any.reason]).to.deep.equal([true, 'the other', 'the other'])
    })

    it('has aborted where one of them has', () => {
      const any = anySignal(new AbortController().signal, AbortSignal.abort('before'))

      expect([any.aborted, any.reason]).to.deep.equal([true, 'before'])
    })
  })
}
