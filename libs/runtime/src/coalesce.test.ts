import { expect } from 'chai'
import { coalesce } from './coalesce.ts'

describe('coalesced calls', () => {
  /** Loads that a test answers. */
  function startLoads(until?: () => Promise<unknown>) {
    const begun: { keys: readonly string[]; answer(values: [string, string][] | Error): void }[] = []
    const load = (keys: readonly string[]) =>
      new Promise<[string, string][]>((resolve, reject) => {
        begun.push({ keys, answer: (values) => (values instanceof Error ? reject(values) : resolve(values)) })
      })
    return { begun, find: coalesce(load, until && { until }) }
  }
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

  it('wait for the load before, share the next one, and have the error of their own', async () => {
    const { begun, find } = startLoads()
    const first = find('1').catch(String)
    await turn()
    const late = ['1', '2', '1', '3'].map(find)
    await turn()
    expect(begun.map(({ keys }) => keys)).to.deep.equal([['1']])

    begun[0]?.answer(new Error('gone'))
    expect(await first).to.equal('Error: gone')
    await turn()
    begun[1]?.answer([
      ['3', 'c'],
      ['1', 'a'],
    ])
    expect(await Promise.all(late)).to.deep.equal(['a', undefined, 'a', 'c'])
    expect(begun.map(({ keys }) => keys)).to.deep.equal([['1'], ['1', '2', '3']])
  })

  it('join until the batch is complete, while another load is under way', async () => {
    const completions: PromiseWithResolvers<void>[] = []
    const { begun, find } = startLoads(() => {
      const completion = Promise.withResolvers<void>()
      completions.push(completion)
      return completion.promise
    })
    void find('1')
    await turn()
    void find('2')
    completions[0]?.resolve()
    await turn()
    void find('1')
    await turn()
    completions[1]?.resolve()
    await turn()

    expect(begun.map(({ keys }) => keys)).to.deep.equal([['1', '2'], ['1']])
  })
})
