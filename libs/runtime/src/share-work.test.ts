import { expect } from 'chai'
import { shareWork } from './share-work.ts'

describe('shared work', () => {
  it('is begun once for the calls of a key while it is under way, and again after its end or error', async () => {
    const begun: { about: string[]; end: PromiseWithResolvers<string> }[] = []
    const work = shareWork((...about: [key: string, detail: string]) => {
      const end = Promise.withResolvers<string>()
      begun.push({ about, end })
      return end.promise
    })

    const first = [work('a', '1').catch(String), work('a', '2').catch(String), work('b', '3')]
    begun[0]?.end.reject(new Error('gone'))
    begun[1]?.end.resolve('x')
    expect(await Promise.all(first)).to.deep.equal(['Error: gone', 'Error: gone', 'x'])
    const next = work('a', '4')
    begun[2]?.end.resolve('y')

    expect(await next).to.equal('y')
    expect(begun.map(({ about }) => about)).to.deep.equal([
      ['a', '1'],
      ['b', '3'],
      ['a', '4'],
    ])
  })
})
