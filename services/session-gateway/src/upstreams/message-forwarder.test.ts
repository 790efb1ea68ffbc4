import { buildAccountState } from '@gatehouse/test-kit'
import { readJson } from '@gatehouse/upstreams'
import { expect } from 'chai'
import { timings } from '../policy.ts'
import type { AuthenticatedSocket } from '../sessions/session-registry.ts'
import { createLiveUpstream } from './upstream-set.ts'
import { createMessageForwarder } from './message-forwarder.ts'

const definition = { name: 'chat', origins: [], routes: [], messages: ['chat.'], ready: [], events: [], answers: [] }

describe('the limits of messages to one upstream on a node', () => {
  it('has 1,024 requests in flight, and then takes turns among the sockets that wait', async () => {
    const { upstream, sent, send, settle, acknowledge, forwarder } = start()
    const sockets = Array.from({ length: 1_026 }, () => fakeSocket())
    const [first, ...others] = sockets
    send(first!, 'first again', 'and again')

    for (const socket of others) send(socket, 'once')
    await settle()
    expect(sent).to.have.length(1_024)
    forwarder.drop(sockets.at(-2)!)
    await acknowledge(0)
    await acknowledge(1_024)
    await acknowledge(1_025)

    expect(sent.slice(1_024)).to.deep.equal(['once', 'and again'])
    expect(upstream.waitingBytes).to.equal(0)
  })

  it('keeps at most 32 MiB waiting over all sockets', () => {
    const { upstream, outcomes, send } = start()
    const text = 'x'.repeat(1024 * 1024 - 100)

    for (let n = 0; n < 33; n += 1) send(fakeSocket(), 'in flight', text)

    expect(outcomes.filter((outcome) => outcome === 'too_many')).to.have.length(1)
    expect(upstream.waitingBytes).to.be.within(31 * 1024 * 1024, 32 * 1024 * 1024)
  })

  it('refuses what is nested more than 60 deep, in both directions: no depth ends the process', async () => {
    const { sent, outcomes, forward, settle } = start()
    const json = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
    const nested = (levels: number): unknown => JSON.parse(json(levels))

    for (const levels of [59, 60, 8_000]) forward(fakeSocket(), json(levels))
    await settle()

    expect(sent).to.deep.equal([nested(59)])
    expect(outcomes).to.deep.equal(['refused', 'refused'])
    expect(readJson(Buffer.from(json(60)))).to.deep.equal(nested(60))
    for (const levels of [61, 20_000]) expect(() => readJson(Buffer.from(json(levels)))).to.throw('nested too deeply')
  })
})

function start() {
  const upstream = createLiveUpstream(definition, 'test')
  const sent: unknown[] = []
  const outcomes: string[] = []
  const replies: PromiseWithResolvers<Uint8Array>[] = []
  const deps = {
    plain: {
      request: (_subject: string, body: string) => {
        sent.push((JSON.parse(body) as { message: { text: unknown } }).message.text)
        const reply = Promise.withResolvers<Uint8Array>()
        replies.push(reply)
        return reply.promise
      },
    },
    random: { uuid: () => 'r-1' },
    clock: { now: () => 0 },
    accountStates: { find: async (userId: string) => buildAccountState({ userId }) },
    timings,
    occasionalLog: { warn: () => undefined },
    sessionMetrics: { upstreamMessages: { inc: ({ outcome }: { outcome: string }) => void outcomes.push(outcome) } },
  }
  const forwarder = createMessageForwarder(deps as unknown as Parameters<typeof createMessageForwarder>[0])
  /** A message with this text, which is JSON. */
  const forward = (socket: AuthenticatedSocket, text: string): void => {
    const frame = `{"type":"chat.text","text":${text}}`
    forwarder.forward(socket, upstream, JSON.parse(frame) as { type: string }, Buffer.from(frame))
  }
  return {
    upstream,
    sent,
    outcomes,
    forwarder,
    forward,
    send(socket: AuthenticatedSocket, ...texts: string[]): void {
      for (const text of texts) forward(socket, JSON.stringify(text))
    },
    settle,
    async acknowledge(index: number): Promise<void> {
      replies[index]?.resolve(Buffer.from('{"ok":true}'))
      await settle()
    },
  }
}

const settle = () => new Promise<void>((resolve) => void setImmediate(resolve))

function fakeSocket(): AuthenticatedSocket {
  const user = { id: '1', sockets: new Set() }
  return {
    phase: 'ready',
    readyState: 3,
    OPEN: 1,
    session: { id: 's-1', iat: 0, exp: 1, user },
  } as unknown as AuthenticatedSocket
}
