import { randomUUID } from 'node:crypto'
import { profileChanged } from '@gatehouse/contracts'
import { buildAccountState, startNats } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { signIn } from './client.ts'
import { buildUser, openCluster, publishEnding } from './harness.ts'

const megabyte = 1024 * 1024

describe('a flood of profile changes that fills what NATS may store', () => {
  it('does not delay the end of a session, because the streams have bounds of their own', async () => {
    expect(await resetInFlood({ streamBytes: megabyte })).to.deep.equal({
      refused: false,
      closed: { code: 4010, reason: 'Password reset' },
    })
  })

  it('delays it where they share what there is: the control', async () => {
    expect(await resetInFlood({ streamBytes: -1 })).to.deep.equal({ refused: true, closed: 'still open' })
  })
})

async function resetInFlood({ streamBytes }: { streamBytes: number }) {
  await using nats = await startNats({ config: 'jetstream { max_file_store: 4MB }' })
  await using cluster = await openCluster({ natsUrl: nats.url, streamBytes })
  const node = await cluster.startNode()
  const bus = await cluster.openBus()
  const user = await buildUser(cluster, Date.now() - 5_000)
  const tab = await signIn(node.url, user.token)
  const changed = ['x'.repeat(megabyte / 20)]
  for (let userId = 1; userId <= 120; userId += 1) {
    const payload = { userId: String(userId), at: 1, state: buildAccountState(), profileUpdatedAt: 1, changed }
    await bus.publish(profileChanged, payload, { id: randomUUID() }).catch(() => undefined)
  }

  const reset = publishEnding({ cluster, bus }, user, { event: 'PasswordReset' })
  const refused = await reset.then(
    () => false,
    () => true,
  )
  const closed = refused ? await tab.synchronize().then(() => 'still open') : await tab.closed
  tab.socket.terminate()
  return { refused, closed }
}
