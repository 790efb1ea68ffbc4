import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { identityChanged, passkeyAdded, passkeyRemoved, secondFactorBlocked } from '@gatehouse/contracts'
import { secondFactorChanged } from '@gatehouse/contracts'
import { buildAccountState } from '@gatehouse/test-kit'
import { signIn } from './client.ts'
import { buildUser, openCluster, type Cluster } from './harness.ts'

/** Contract: 3, Second factor; 3, Passkeys; 3, Identity providers. */
describe('a security notice', () => {
  let cluster: Cluster
  before(async () => void (cluster = await openCluster()))
  after(() => cluster[Symbol.asyncDispose]())

  it('tells every socket of the account, on every node, what happened to its second factor, passkeys and identities, and nobody else', async () => {
    const [first, second] = [await cluster.startNode(), await cluster.startNode()]
    const bus = await cluster.openBus()
    const [user, bystander] = [await buildUser(cluster), await buildUser(cluster)]
    const own = [await signIn(first.url, user.token), await signIn(first.url, user.token)]
    own.push(await signIn(second.url, user.token))
    const other = await signIn(first.url, bystander.token)
    const at = Date.now()
    const { id: userId } = user
    const changed = { userId, at, actor: null, state: buildAccountState({ userId }) }

    await bus.publish(secondFactorBlocked, { userId, at, until: at + 1 }, { id: randomUUID() })
    for (const socket of own)
      expect(await socket.take('security_notice')).to.deep.equal({
        type: 'security_notice',
        what: 'second_factor_blocked',
        at,
      })
    for (const change of ['due', 'optional', 'on', 'off'] as const)
      await bus.publish(secondFactorChanged, { ...changed, change }, { id: randomUUID() })
    for (const event of [passkeyAdded, passkeyRemoved])
      await bus.publish(event, { userId, at, passkeyId: '1', name: 'phone' }, { id: randomUUID() })
    for (const change of ['linked', 'unlinked'] as const)
      await bus.publish(identityChanged, { userId, at, provider: 'own', change }, { id: randomUUID() })

    for (const socket of own) {
      const what = async () => (await socket.take('security_notice'))['what']
      const told = [await what(), await what(), await what(), await what(), await what(), await what()]
      // Events of several kinds come by ways of their own.
      expect(told).to.have.members([
        'second_factor_on',
        'second_factor_off',
        'passkey_added',
        'passkey_removed',
        'identity_linked',
        'identity_unlinked',
      ])
    }
    await other.synchronize()
    expect(other.messages.filter(({ type }) => type === 'security_notice')).to.deep.equal([])
    for (const socket of [...own, other]) socket.socket.terminate()
  })
})
