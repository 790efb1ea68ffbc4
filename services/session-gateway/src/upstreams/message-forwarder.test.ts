import { expect } from 'chai'
import { timings } from '../policy.ts'
import type { AuthenticatedSocket } from '../sessions/session-registry.ts'
import { LiveUpstream } from './live-upstream.ts'
import { MessageForwarder } from './message-forwarder.ts'
import { readJson } from './read-json.ts'

const definition = { name: 'chat', origins: [], routes: [], messages: ['chat.'], ready: [], events: [] }

describe('the limits of messages to one upstream on a node', () => {
  it('has 1,024 requests in flight, and then takes turns among the sockets that wait', async () => {
    const { upstream, sent, send, acknowledge, forwarder } = start()
    const sockets = Array.from({ length: 1_026 }, () => fakeSocket())
    const [first, ...others] = sockets
    send(first!, 'first again', 'and again')

    for (const socket of others) send(socket, 'once')
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

  it('refuses what is nested more than 60 deep, in both directions: no depth ends the process', () => {
    const { sent, outcomes, forward } = start()
    const json = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
    const nested = (levels: number): unknown => JSON.parse(json(levels))

    for (const levels of [59, 60, 8_000]) forward(fakeSocket(), { type: 'chat.text', text: nested(levels) })

    expect(sent).to.deep.equal([nested(59)])
    expect(outcomes).to.deep.equal(['refused', 'refused'])
    expect(readJson(Buffer.from(json(60)))).to.deep.equal(nested(60))
    for (const levels of [61, 20_000]) expect(() => readJson(Buffer.from(json(levels)))).to.throw('nested too deeply')
  })
})

function start() {
  const upstream = new LiveUpstream(definition, 'test')
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
    timings,
    occasionalLog: { warn: () => undefined },
    sessionMetrics: { upstreamMessages: { inc: ({ outcome }: { outcome: string }) => void outcomes.push(outcome) } },
  }
  const forwarder = new MessageForwarder(deps as unknown as ConstructorParameters<typeof MessageForwarder>[0])
  const forward = (socket: AuthenticatedSocket, message: { type: string; text: unknown }): void =>
    forwarder.forward(socket, upstream, message)
  return {
    upstream,
    sent,
    outcomes,
    forwarder,
    forward,
    send(socket: AuthenticatedSocket, ...texts: string[]): void {
      for (const text of texts) forward(socket, { type: 'chat.text', text })
    },
    async acknowledge(index: number): Promise<void> {
      replies[index]?.resolve(Buffer.from('{"ok":true}'))
      await new Promise<void>((resolve) => void setImmediate(resolve))
    },
  }
}

function fakeSocket(): AuthenticatedSocket {
  const user = { id: '1', username: 'ada', isAdmin: false, sockets: new Set() }
  return { phase: 'ready', readyState: 3, OPEN: 1, session: { id: 's-1', user } } as unknown as AuthenticatedSocket
}
