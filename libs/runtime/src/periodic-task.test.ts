import { manualTimer } from '@gatehouse/test-kit/time'
import { expect } from 'chai'
import { startPeriodicTask } from './periodic-task.ts'

describe('a periodic task', () => {
  it('runs after each period, counted from the end of the run before', async () => {
    const { timer, task, runs } = start()

    timer.advance(999)
    expect(runs).to.have.length(0)
    timer.advance(1)
    await settled()
    timer.advance(5_000)
    expect(runs).to.have.length(1)
    runs[0]!.resolve()
    await settled()
    timer.advance(999)
    expect(runs).to.have.length(1)
    timer.advance(1)
    await settled()

    expect(runs).to.have.length(2)
    runs[1]!.resolve()
    await task[Symbol.asyncDispose]()
  })

  it('runs first after a time of its own where it has one, and then after each period', async () => {
    const { timer, task, runs } = start({ firstAfterMs: 0 })

    expect(runs).to.have.length(0)
    timer.advance(0)
    await settled()
    expect(runs).to.have.length(1)
    runs[0]!.resolve()
    await settled()
    timer.advance(999)
    expect(runs).to.have.length(1)
    timer.advance(1)
    await settled()

    expect(runs).to.have.length(2)
    runs[1]!.resolve()
    await task[Symbol.asyncDispose]()
  })

  it('runs at once when asked, and starts the period anew', async () => {
    const { timer, task, runs } = start()

    timer.advance(900)
    const ran = task.runNow()
    await settled()
    runs[0]!.resolve()
    await ran
    timer.advance(999)

    expect(runs).to.have.length(1)
    expect(timer.pending()).to.equal(1)
    await task[Symbol.asyncDispose]()
    expect(timer.pending()).to.equal(0)
  })

  it('never runs twice at a time: however often it is asked during a run, one more follows', async () => {
    const { task, runs } = start()

    void task.runNow()
    await settled()
    const requests = [task.runNow(), task.runNow(), task.runNow()]
    await settled()
    expect(runs).to.have.length(1)
    runs[0]!.resolve()
    await settled()
    runs[1]!.resolve()
    await Promise.all(requests)

    expect(runs).to.have.length(2)
    await task[Symbol.asyncDispose]()
  })

  it('logs a failure and goes on', async () => {
    const { timer, task, runs, logged } = start()

    timer.advance(1_000)
    await settled()
    const broken = new Error('broken')
    runs[0]!.reject(broken)
    await settled()
    timer.advance(1_000)
    await settled()

    expect(logged).to.deep.equal([{ err: broken, task: 'sweep' }])
    expect(runs).to.have.length(2)
    runs[1]!.resolve()
    await task[Symbol.asyncDispose]()
  })

  it('ends after the run under way, and starts none after that', async () => {
    const { timer, task, runs } = start()
    timer.advance(1_000)
    await settled()
    let ended = false

    const ending = task[Symbol.asyncDispose]().then(() => (ended = true))
    void task.runNow()
    await settled()
    expect(ended).to.equal(false)
    runs[0]!.resolve()
    await ending
    timer.advance(10_000)
    await task.runNow()

    expect(runs).to.have.length(1)
  })
})

function start(options: { firstAfterMs?: number } = {}) {
  const timer = manualTimer()
  const runs: PromiseWithResolvers<void>[] = []
  const logged: object[] = []
  const log = { warn: (fields: object) => void logged.push(fields) }
  const task = startPeriodicTask({ name: 'sweep', everyMs: 1_000, log, timer, ...options }, () => {
    const run = Promise.withResolvers<void>()
    runs.push(run)
    return run.promise
  })
  return { timer, task, runs, logged }
}

/** Everything that was resolved has been acted on. */
const settled = () => new Promise<void>((resolve) => void setImmediate(resolve))
