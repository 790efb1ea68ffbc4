import { expect } from 'chai'
import { anyCharacter } from '@gatehouse/test-kit/any-character'
import fc from 'fast-check'
import { connect, signIn, type Message } from './client.ts'
import { buildUser, openCluster, type BuiltUser, type Cluster, type Node } from './harness.ts'

const badAuth = '{"type":"auth","token":"x"}'

describe('any sequence of frames', () => {
  let cluster: Cluster
  let node: Node
  let user: BuiltUser

  before(async () => {
    cluster = await openCluster()
    node = await cluster.startNode()
    user = await buildUser(cluster)
  })
  after(() => cluster[Symbol.asyncDispose]())

  const frame = fc.oneof(
    fc.constant('{"type":"ping"}'),
    fc.constant(badAuth),
    fc.json(),
    fc.string({ unit: anyCharacter, maxLength: 200 }),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.integer({ min: 4_000, max: 20_000 }).map((length) => 'x'.repeat(length)),
  )
  // It ends the socket, but where the messages of the account are used up.
  const answers = new Set(['Invalid JSON', 'Rate limited', 'Unknown message type'])

  it('is read where a message has 16 fragments, and ends the socket where it has more: it counts as one frame', async () => {
    const [whole, torn] = [await signIn(node.url, user.token), await signIn(node.url, user.token)]
    for (let part = 0; part < 15; part += 1) for (const { socket } of [whole, torn]) socket.send('', { fin: false })
    torn.socket.send('', { fin: false })

    for (const { socket } of [whole, torn]) socket.send('{"type":"ping"}')

    await whole.take('pong')
    expect((await torn.closed).code).to.equal(1008)
    whole.socket.terminate()
  })

  it('gets ready only for a first message that is a good auth, and only known answers after it', async () => {
    const sequence = fc.record({ isGood: fc.boolean(), frames: fc.array(frame, { maxLength: 12 }) })
    await fc.assert(
      fc.asyncProperty(sequence, async ({ isGood, frames }) => {
        const client = await connect(node.url)
        if (isGood) {
          client.send({ type: 'auth', token: user.token })
          await client.take('ready')
        }
        for (const each of frames) client.socket.send(each)
        if (!isGood) client.socket.send('{"type":"ping"}')
        const isTooBig = frames.some((each) => each.length > 16 * 1024)
        if (isGood && !isTooBig) {
          client.socket.send('{"type":"ping"}')
          await (frames.includes(badAuth)
            ? Promise.race([client.take('pong').catch(() => null), client.closed])
            : client.take('pong'))
          client.socket.close(1000)
        }

        const { code } = await client.closed

        if (isGood) {
          expect(code).to.be.oneOf([isTooBig ? 1009 : 1000, ...(frames.includes(badAuth) ? [4003] : [])])
          expect(client.messages.every((message) => message.type === 'pong' || isKnownError(message))).to.equal(true)
        } else {
          expect(code).to.be.oneOf([1009, 4002, 4003])
          expect(client.messages.filter(({ type }) => type === 'ready')).to.deep.equal([])
          expect(client.messages.length).to.be.at.most(1)
        }
      }),
      { numRuns: 60, endOnFailure: true },
    )
  })

  function isKnownError({ type, message }: Message): boolean {
    return type === 'error' && answers.has(String(message))
  }
})
