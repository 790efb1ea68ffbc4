import { expect } from 'chai'
import fc from 'fast-check'
import { createQuota } from './quota.ts'

describe('createQuota', () => {
  it('takes up to the maximum of each key, and again after a release', () => {
    const quota = createQuota(2)

    expect([quota.take('a'), quota.take('a'), quota.take('a'), quota.take('b')]).to.deep.equal([
      true,
      true,
      false,
      true,
    ])
    quota.release('a')
    expect([quota.take('a'), quota.take('a')]).to.deep.equal([true, false])
  })

  it('counts amounts', () => {
    const quota = createQuota(10)

    expect([quota.take('a', 8), quota.take('a', 3), quota.take('a', 2)]).to.deep.equal([true, false, true])
    quota.release('a', 10)
    expect(quota.take('a', 10)).to.equal(true)
  })

  it('counts each key on its own, gives places back, and tells the total', () => {
    const quota = createQuota(2)

    const results = [quota.take('a'), quota.take('a'), quota.take('a'), quota.take('b')]
    quota.release('a')

    expect(results).to.deep.equal([true, true, false, true])
    expect(quota.take('a')).to.equal(true)
    expect(quota.total()).to.equal(3)
  })

  it('gives back no more than the key holds', () => {
    const quota = createQuota(2, 3)
    quota.take('a')
    quota.take('b')

    quota.release('a', 5)
    quota.release('c')

    expect(quota.total()).to.equal(1)
    expect([quota.take('a', 2), quota.take('c')]).to.deep.equal([true, false])
  })

  it('lets no key nor all together hold more than the maximum, and is empty when all is given back in any order', () => {
    const key = fc.constantFrom('a', 'b', 'c')
    const step = fc.record({ key, amount: fc.integer({ min: 1, max: 4 }), isRelease: fc.boolean() })
    const maxima = fc.record({ ofKey: fc.nat(8), inAll: fc.nat(16) })
    fc.assert(
      fc.property(maxima, fc.array(step, { maxLength: 60 }), fc.infiniteStream(fc.nat()), (max, steps, picks) => {
        const quota = createQuota(max.ofKey, () => max.inAll)
        const places: { key: string; amount: number }[] = []
        const sum = (of?: string) =>
          places.filter((one) => !of || one.key === of).reduce((all, one) => all + one.amount, 0)
        const releaseAny = (): void => {
          const [one] = places.splice(picks.next().value! % places.length, 1)
          quota.release(one!.key, one!.amount)
        }
        for (const { key, amount, isRelease } of steps) {
          if (isRelease && places.length > 0) releaseAny()
          const fits = sum(key) + amount <= max.ofKey && sum() + amount <= max.inAll
          expect(quota.take(key, amount)).to.equal(fits)
          if (fits) places.push({ key, amount })
          expect(quota.total()).to.equal(sum())
        }
        while (places.length > 0) releaseAny()
        expect(quota.total()).to.equal(0)
        for (const all of ['a', 'b', 'c']) {
          expect(quota.take(all, Math.min(max.ofKey, max.inAll))).to.equal(true)
          quota.release(all, max.ofKey)
        }
      }),
    )
  })
})
