import { expect } from 'chai'
import { abortable, withTimeout } from './time.ts'

const never = () => new Promise<never>(() => undefined)
const late = () => new Error('late')

describe('a timeout', () => {
  it('gives the outcome of work that ends in time: value, rejection, or a throw at once', async () => {
    expect(await withTimeout(Promise.resolve('done'), 1_000, late)).to.equal('done')
    expect(await withTimeout(() => 'at once', 1_000, late)).to.equal('at once')
    expect(await failureOf(withTimeout(Promise.reject(new Error('broken')), 1_000, late))).to.equal('broken')
    expect(await failureOf(withTimeout(throwing, 1_000, late))).to.equal('thrown')
  })

  it('rejects with its own error when the work takes longer, and ignores how the work ends', async () => {
    const work = Promise.withResolvers<void>()

    const failure = await failureOf(withTimeout(work.promise, 1, late))
    work.reject(new Error('nothing listens any more'))

    expect(failure).to.equal('late')
  })
})

describe('abortable work', () => {
  it('gives the outcome of the work when that comes first', async () => {
    const { signal } = new AbortController()

    expect(await abortable(Promise.resolve('done'), signal)).to.equal('done')
    expect(await failureOf(abortable(throwing, signal))).to.equal('thrown')
  })

  it('rejects with the reason of the signal, also when it was aborted before', async () => {
    const controller = new AbortController()
    const waiting = failureOf(abortable(never, controller.signal))

    controller.abort(new Error('stopped'))

    expect(await waiting).to.equal('stopped')
    expect(await failureOf(abortable(never, controller.signal))).to.equal('stopped')
  })

  it('leaves no listener behind', async () => {
    let listeners = 0
    const signal = {
      aborted: false,
      addEventListener: () => (listeners += 1),
      removeEventListener: () => (listeners -= 1),
    } as unknown as AbortSignal

    await abortable(Promise.resolve(), signal)

    expect(listeners).to.equal(0)
  })
})

function throwing(): never {
  throw new Error('thrown')
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'no failure',
    (error: Error) => error.message,
  )
}
