import { connectNats } from '@gatehouse/bus'
import { capturedLog, testNats } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { connect, type NatsConnection } from 'nats'
import { systemTimer } from '@gatehouse/runtime'
import { createMetrics } from '@gatehouse/service-kit'
import { UpstreamQuestions } from './ask-upstream.ts'

describe('A question to an upstream', () => {
  const scope = new AsyncDisposableStack()
  const metrics = createMetrics()
  let nats: NatsConnection
  let questions: UpstreamQuestions
  let prefix: string

  before(async () => {
    const { url, prefix: own } = scope.use(await testNats())
    prefix = own
    const { log } = capturedLog()
    const bus = scope.use(await connectNats({ url, prefix, name: 'identity', log }))
    questions = new UpstreamQuestions({ bus, metrics, log, timer: systemTimer })
    nats = await connect({ servers: url })
    scope.defer(() => nats.close())
  })
  after(() => scope.disposeAsync())

  /** What is answered to one question, and how it was counted. */
  async function ask(upstream: string, reply: Uint8Array | string | undefined) {
    const subject = `${prefix}.upstream.${upstream}.members`
    const subscription = nats.subscribe(subject, {
      callback: (_, message) => void (reply !== undefined && message.respond(reply)),
    })
    await nats.flush()
    const answer = await questions.ask(
      upstream,
      'members',
      { space: '7' },
      { timeoutMs: reply === undefined ? 50 : 5_000 },
    )
    subscription.unsubscribe()
    return { answer, outcome: await outcomeOf(upstream) }
  }

  async function outcomeOf(upstream: string): Promise<string | undefined> {
    const { text } = await metrics.render()
    return new RegExp(`upstream="${upstream}",question="members",outcome="(\\w+)"} 1`).exec(text)?.[1]
  }

  const ids = (count: number) => Array.from({ length: count }, (_, n) => String(9_000_000_000_000_000_000n + BigInt(n)))

  /** Design: invariant 10. */
  it('has an answer within its limits, and none that is wrong, late, absent or too large', async () => {
    const most = { members: ids(10_000) }

    expect(await ask('good', JSON.stringify({ ...most, more: true }))).to.deep.equal({
      answer: most,
      outcome: 'answered',
    })
    const replies: Record<string, Uint8Array | string> = {
      text: 'not JSON',
      bytes: Uint8Array.of(0x22, 0xff, 0x22),
      deep: `{"members":${'['.repeat(100)}${']'.repeat(100)}}`,
      kind: '{"members":"7"}',
      missing: '{"error":"Service error"}',
      number: '{"members":[7]}',
      range: '{"members":["9999999999999999999"]}',
      many: JSON.stringify({ members: ids(10_001) }),
      large: JSON.stringify({ members: [], padding: 'x'.repeat(256 * 1024) }),
    }
    for (const [upstream, reply] of Object.entries(replies)) {
      expect(await ask(upstream, reply), upstream).to.deep.equal({ answer: undefined, outcome: 'wrong' })
    }
    expect(await ask('slow', undefined)).to.deep.equal({ answer: undefined, outcome: 'late' })
    expect(await questions.ask('absent', 'members', { space: '7' })).to.equal(undefined)
    expect(await outcomeOf('absent')).to.equal('absent')
  })

  it('is not asked beyond 32 at a time, while another upstream is', async () => {
    const waiting: (() => void)[] = []
    const answer = (upstream: string, then: (respond: () => void) => void) =>
      nats.subscribe(`${prefix}.upstream.${upstream}.members`, {
        callback: (_, message) => then(() => void message.respond('{"members":[]}')),
      })
    answer('busy', (respond) => void waiting.push(respond))
    answer('free', (respond) => respond())
    await nats.flush()

    const asked = Array.from({ length: 33 }, () => questions.ask('busy', 'members', {}, { timeoutMs: 10_000 }))
    const beyond = await asked[32]
    const other = await questions.ask('free', 'members', {}, { timeoutMs: 10_000 })
    const isDone = Promise.all(asked)
    const timer = setInterval(() => waiting.splice(0).forEach((respond) => respond()), 5)
    const answers = await isDone
    clearInterval(timer)

    expect(beyond).to.equal(undefined)
    expect(other).to.deep.equal({ members: [] })
    expect(answers.slice(0, 32)).to.deep.equal(Array(32).fill({ members: [] }))
    expect(await questions.ask('free', 'members', {})).to.deep.equal({ members: [] })
  })
})
