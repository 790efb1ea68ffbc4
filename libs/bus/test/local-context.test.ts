import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { defineBroadcast, defineCall, defineEvent } from '@gatehouse/contracts'
import { capturedLog } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { z } from 'zod'
import { createLocalBus } from '../src/index.ts'

const happened = defineEvent({ name: 'Happened', subject: 'event.test.happened.v1', payload: z.object({}) })
const announced = defineBroadcast({ name: 'Announced', subject: 'event.test.announced.v1', payload: z.object({}) })
const question = defineCall({ subject: 'call.test.question.v1', request: z.object({}), reply: z.object({}) })

describe('the in-process bus', () => {
  it("runs handlers outside the sender's transaction, as they would in another process", async () => {
    await using bus = createLocalBus({ log: capturedLog().log })
    const transaction = new AsyncLocalStorage<string>()
    const inherited: (string | undefined)[] = []
    const note = async () => void inherited.push(transaction.getStore())
    await bus.subscribe(happened, note, { group: 'group' })
    await bus.subscribe(happened, note)
    await bus.subscribe(announced, note)
    await bus.respond(question, async () => {
      await note()
      return {}
    })

    await transaction.run('of the sender', async () => {
      await bus.publish(happened, {}, { id: randomUUID() })
      void bus.publish(announced, {})
      await bus.request(question, {}, { timeoutMs: 1_000 })
    })
    await bus[Symbol.asyncDispose]()

    expect(inherited).to.deep.equal([undefined, undefined, undefined, undefined])
  })
})
