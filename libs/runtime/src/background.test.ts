import { expect } from 'chai'
import { createBackgroundTasks } from './background.ts'

describe('background work', () => {
  it('of one name runs once at a time, and closing waits for it', async () => {
    const background = createBackgroundTasks({ warn: () => undefined })
    const gate = Promise.withResolvers<void>()
    let started = 0
    let ended = 0
    const work = async () => {
      started += 1
      await gate.promise
      ended += 1
    }

    background.start('sweep', work)
    background.start('sweep', work)
    background.start('another', work)
    const closed = background[Symbol.asyncDispose]()
    gate.resolve()
    await closed

    expect([started, ended]).to.deep.equal([2, 2])
  })

  it('that fails is logged and may be started again', async () => {
    const lines: object[] = []
    const background = createBackgroundTasks({ warn: (fields, msg) => void lines.push({ ...fields, msg }) })
    background.start('sweep', () => Promise.reject(new Error('broken')))
    await background[Symbol.asyncDispose]()
    let again = false

    background.start('sweep', async () => void (again = true))
    await background[Symbol.asyncDispose]()

    expect(again).to.equal(true)
    expect(lines[0]).to.include({ work: 'sweep', msg: 'background task failed' })
  })
})
