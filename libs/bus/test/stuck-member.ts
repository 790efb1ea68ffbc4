import { defineEvent } from '@gatehouse/contracts'
import { z } from 'zod'
import { connectNats } from '../src/index.ts'

// A member of the group `group` that takes an event and never finishes with it: `stuck-member.ts <url> <subject>`.
const [url, subject] = process.argv.slice(2) as [string, `event.${string}`]
const log = { warn: () => {}, error: () => {} }
const bus = await connectNats({ url, name: 'stuck member', log })
await bus.subscribe(
  defineEvent({ name: 'Counted', subject, payload: z.object({ n: z.int() }) }),
  async ({ payload }) => {
    process.send!({ holds: payload.n })
    await new Promise(() => {})
  },
  { group: 'group' },
)
process.send!({ ready: true })
