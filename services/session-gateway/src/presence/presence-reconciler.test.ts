import { expect } from 'chai'
import fc from 'fast-check'
import type { TransactionEnd } from '../../test/fake-presence-store.ts'
import { ReconciledNode, type Handshake } from '../../test/reconciled-node.ts'

describe('the presence reconciler', () => {
  it('records a user with the first socket, once for many handshakes, and no other user', async () => {
    const node = nodeWith('1', '2')

    const handshakes = [node.connect('1'), node.connect('1'), node.connect('1')]
    await node.advance(5)

    expect(handshakes.map(({ outcome }) => outcome)).to.deep.equal(['ready', 'ready', 'ready'])
    expect([node.isOnline('1'), node.isOnline('2')]).to.deep.equal([true, false])
    expect(node.seenElsewhere).to.deep.equal(['online'])
    expect(node.hinted).to.deep.equal([{ userId: '1', status: 'online' }])
  })

  /** Contract: 6, presence_update. */
  it('presence_update: a user is offline 5 s after the last socket has closed, and not before', async () => {
    const node = nodeWith('1')
    const [one, other] = [await signIn(node, '1'), await signIn(node, '1')]

    node.disconnect(one)
    await node.advance(3_000)
    node.disconnect(other)
    await node.advance(4_980)
    expect(node.isOnline('1')).to.equal(true)
    await node.advance(40)

    expect(node.isOnline('1')).to.equal(false)
    expect(node.seenElsewhere).to.deep.equal(['online', 'offline'])
    await node.advance(5)
    expect([...node.sessions.users()]).to.deep.equal([])
  })

  it('presence_update: changes nothing when a socket comes back within the grace period', async () => {
    const node = nodeWith('1')
    node.disconnect(await signIn(node, '1'))

    await node.advance(4_900)
    await signIn(node, '1')
    await node.advance(60_000)

    expect(node.isOnline('1')).to.equal(true)
    expect(node.seenElsewhere).to.deep.equal(['online'])
  })

  it('does not prolong the grace period for tokens that the account does not accept', async () => {
    const node = nodeWith('1')
    const tab = await signIn(node, '1', 100)
    node.store.accounts.get('1')!.passwordChangedAt = 50_000
    node.disconnect(tab)

    for (let elapsedMs = 0; elapsedMs < 4_950; elapsedMs += 50) {
      node.connect('1', 10)
      await node.advance(50)
    }
    expect(node.isOnline('1')).to.equal(true)
    node.connect('1', 10)
    await node.advance(75)

    expect(node.isOnline('1')).to.equal(false)
    expect(new Set(node.handshakes.slice(1).map(({ outcome }) => outcome))).to.deep.equal(new Set(['refused']))
  })

  it('begins the grace period with the last accepted socket, although handshakes with revoked tokens overlap', async () => {
    const node = nodeWith('1')
    const tab = await signIn(node, '1', 100)
    node.store.accounts.get('1')!.passwordChangedAt = 50_000
    node.store.isHeld = true
    let last = node.connect('1', 10)

    node.disconnect(tab)
    for (let elapsedMs = 0; elapsedMs < 5_100; elapsedMs += 50) {
      expect(node.isOnline('1')).to.equal(elapsedMs < 5_000)
      await node.advance(50)
      node.store.end()
      await node.settle()
      const next = node.connect('1', 10)
      node.store.end()
      await node.settle()
      expect([last.outcome, next.outcome]).to.deep.equal(['refused', 'pending'])
      last = next
    }

    expect(node.isOnline('1')).to.equal(false)
  })

  it('gives the whole grace period to a socket whose handshake ended after another socket had closed', async () => {
    const node = nodeWith('1')
    const leaving = node.connect('1')
    const staying = await connectUncommitted(node, '1')

    node.disconnect(leaving)
    await node.commit()
    expect(staying.outcome).to.equal('ready')
    await node.advance(4_000)
    node.disconnect(staying)
    await node.advance(4_950)

    expect(node.isOnline('1')).to.equal(true)
    await node.advance(100)
    expect(node.isOnline('1')).to.equal(false)
    expect(node.seenElsewhere).to.deep.equal(['online', 'offline'])
  })

  it('does not write a deleted account online again, and does not try for ever', async () => {
    const node = nodeWith('1')
    await signIn(node, '1')
    node.store.accounts.get('1')!.isDeleted = true
    node.store.evict('node-1')

    await node.heartbeat()
    await node.advance(60_000)

    expect(node.isOnline('1')).to.equal(false)
    expect(node.timer.pending()).to.equal(0)
  })

  for (const ending of ['PasswordReset', 'SessionsEnded', 'UserSuspended', 'UserDeleted'] as const) {
    it(`${ending}: takes the user offline at once`, async () => {
      const node = nodeWith('1')
      await signIn(node, '1')
      await signIn(node, '1')

      node.forceOut('1', ending, 100)
      await node.advance(5)

      expect(node.isOnline('1')).to.equal(false)
      expect(node.seenElsewhere).to.deep.equal(['online', 'offline'])
    })
  }

  it('a forced disconnect during the grace period ends it', async () => {
    const node = nodeWith('1')
    node.disconnect(await signIn(node, '1'))
    await node.advance(1_000)

    node.forceOut('1', 'PasswordReset', 100)
    await node.advance(5)

    expect(node.isOnline('1')).to.equal(false)
  })

  it('Admin reset 3: takes the user offline at once, whatever handshakes with revoked tokens go on', async () => {
    const node = nodeWith('1')
    await signIn(node, '1')
    node.store.accounts.get('1')!.passwordChangedAt = 100_000

    for (let turn = 0; turn < 3; turn += 1) node.connect('1')
    node.forceOut('1', 'PasswordReset', 100)
    for (let turn = 0; turn < 3; turn += 1) node.connect('1')
    await node.advance(5)

    expect(node.isOnline('1')).to.equal(false)
    expect(node.handshakes.slice(1).map(({ outcome }) => outcome)).to.deep.equal(Array(6).fill('refused'))
  })

  it('Admin reset 3: leaves the user online who has a socket with a younger token', async () => {
    const node = nodeWith('1')
    const [old, young] = [await signIn(node, '1', 1), await signIn(node, '1', 200)]

    node.forceOut('1', 'PasswordReset', 100)
    await node.advance(60_000)

    expect([old.socket.phase, young.socket.phase]).to.deep.equal(['closing', 'ready'])
    expect(node.isOnline('1')).to.equal(true)
    expect(node.seenElsewhere).to.deep.equal(['online'])
  })

  it('takes a user offline who is forced out while the handshake is being written', async () => {
    const node = nodeWith('1')
    const tab = await connectUncommitted(node, '1')

    node.forceOut('1', 'UserDeleted', 100)
    await node.commit()
    await node.advance(5)

    expect(tab.outcome).to.equal('refused')
    expect(node.isOnline('1')).to.equal(false)
    expect(node.seenElsewhere).to.deep.equal(['online', 'offline'])
  })

  it('gives a user the grace period who leaves while the handshake is being written', async () => {
    const node = nodeWith('1')
    const tab = await connectUncommitted(node, '1')

    node.disconnect(tab)
    await node.commit()
    await node.advance(4_950)
    expect(node.isOnline('1')).to.equal(true)
    await node.advance(100)
    await node.advance(5)

    expect(node.isOnline('1')).to.equal(false)
    expect([...node.sessions.users()]).to.deep.equal([])
  })

  it('never records a user who leaves before the account is read', async () => {
    const node = nodeWith('1')
    const tab = node.connect('1')

    node.disconnect(tab)
    await node.advance(60_000)

    expect(node.seenElsewhere).to.deep.equal([])
    expect([...node.sessions.users()]).to.deep.equal([])
  })

  it('reads the account for a handshake after its socket was registered, never before', async () => {
    const node = nodeWith('1')
    const first = await connectUncommitted(node, '1')

    const second = node.connect('1')
    node.store.accounts.get('1')!.passwordChangedAt = 100_000
    await node.commit()
    await node.advance(5)

    expect([first.outcome, second.outcome]).to.deep.equal(['ready', 'refused'])
  })

  it('refuses handshakes of accounts that do not exist or are deleted', async () => {
    const node = nodeWith('1')
    node.store.accounts.get('1')!.isDeleted = true

    const handshakes = [node.connect('1'), node.connect('404')]
    await node.advance(5)

    expect(handshakes.map(({ outcome }) => outcome)).to.deep.equal(['refused', 'refused'])
    expect(node.seenElsewhere).to.deep.equal([])
    await node.advance(60_000)
    expect([...node.sessions.users()]).to.deep.equal([])
  })

  it('tries users again whose account is locked, and writes the others meanwhile', async () => {
    const node = nodeWith('1', '2')
    node.store.locked.add('1')
    const [held, free] = [node.connect('1'), node.connect('2')]
    node.store.isHeld = true

    await node.advance(5)
    const late = node.connect('1')
    await node.commit()
    await node.advance(200)
    expect([held.outcome, free.outcome, late.outcome]).to.deep.equal(['pending', 'ready', 'pending'])
    node.store.locked.clear()
    await node.advance(25)

    expect([held.outcome, late.outcome]).to.deep.equal(['ready', 'ready'])
    expect(node.seenElsewhere).to.deep.equal(['online', 'online'])
  })

  it('refuses handshakes as unavailable while the database is away, keeps open sockets, and catches up', async () => {
    const node = nodeWith('1', '2', '3')
    const [staying, leaving] = [await signIn(node, '1'), await signIn(node, '2')]
    node.store.isHeld = true

    const refused = node.connect('3')
    node.disconnect(leaving)
    await failTransactions(node, 10_000)
    expect(refused.outcome).to.equal('unavailable')
    expect(staying.socket.phase).to.equal('ready')
    expect(node.isOnline('2')).to.equal(true)
    node.store.release()
    await node.advance(1_000)

    expect([node.isOnline('1'), node.isOnline('2'), node.isOnline('3')]).to.deep.equal([true, false, false])
    expect([...node.sessions.users()].map(({ id }) => id)).to.deep.equal(['1'])
  })

  it('refuses handshakes when the database has not answered for 8 s', async () => {
    const node = nodeWith('1')
    node.store.isHeld = true
    const tab = node.connect('1')

    await node.advance(5)
    await node.advance(7_999)
    expect(tab.outcome).to.equal('pending')
    await node.advance(1)

    expect(tab.outcome).to.equal('unavailable')
  })

  it('takes a user offline again whose write was committed after that limit', async () => {
    const node = nodeWith('1')
    const tab = await connectUncommitted(node, '1')

    await node.advance(8_000)
    await node.commit()
    expect([tab.outcome, node.isOnline('1')]).to.deep.equal(['unavailable', true])
    await node.advance(1_000 + 5_100)

    expect(node.isOnline('1')).to.equal(false)
  })

  for (const end of ['lostAfterCommit', 'lostBeforeCommit'] as const) {
    it(`${end}: records once that a user came and left whose commits were not confirmed`, async () => {
      const node = nodeWith('1')
      node.store.isHeld = true
      node.connect('1')
      await endNextWrite(node, end)
      expect(node.hinted).to.deep.equal([])

      node.store.isHeld = false
      const again = node.connect('1')
      await node.advance(1_000)
      expect(node.seenElsewhere).to.deep.equal(['online'])
      node.store.isHeld = true
      node.disconnect(again)
      await node.advance(5_100)
      await endNextWrite(node, end)
      node.store.release()
      await node.advance(1_000)

      expect(node.seenElsewhere).to.deep.equal(['online', 'offline'])
    })

    it(`${end}: leaves no user online whose commit was not confirmed`, async () => {
      const node = nodeWith('1')
      const tab = await connectUncommitted(node, '1')
      node.store.end(end)
      await node.settle()
      node.store.release()
      await node.advance(60_000)
      await node.advance(1_000)

      expect(tab.outcome).to.equal('unavailable')
      expect(node.isOnline('1')).to.equal(false)
      expect([...node.sessions.users()]).to.deep.equal([])
    })
  }

  it('records once that a user left whose commit was not confirmed before the node was evicted', async () => {
    const node = nodeWith('1')
    node.disconnect(await signIn(node, '1'))
    node.store.isHeld = true
    await node.advance(5_100)
    await endNextWrite(node, 'lostAfterCommit')

    node.store.evict('node-1')
    await node.heartbeat()
    node.store.release()
    await node.advance(1_000)

    expect(node.seenElsewhere).to.deep.equal(['online', 'offline'])
  })

  it('registers the node again when it was evicted, before the next handshake is answered, and writes all users', async () => {
    const node = nodeWith('1', '2', '3')
    await signIn(node, '1')
    node.disconnect(await signIn(node, '2'))
    node.store.evict('node-1')

    const tab = await signIn(node, '3')
    await node.advance(5)

    expect(tab.outcome).to.equal('ready')
    expect(node.node.id).to.equal('node-2')
    expect([node.isOnline('1'), node.isOnline('2'), node.isOnline('3')]).to.deep.equal([true, false, true])
  })

  it('writes a user again whose write was committed under an id that the node has lost meanwhile', async () => {
    const node = nodeWith('1')
    await connectUncommitted(node, '1')

    node.store.evict('node-1')
    await node.heartbeat()
    node.store.release()
    await node.advance(10)

    expect(node.isOnline('1')).to.equal(true)
  })

  it('ends after the batch under way, and starts no other', async () => {
    const node = nodeWith('1', '2')
    node.store.isHeld = true
    const tab = node.connect('1')
    await node.advance(5)

    const ending = node.presence[Symbol.asyncDispose]()
    const late = node.connect('2')
    node.store.release()
    await ending
    await node.advance(60_000)

    expect([tab.outcome, late.outcome]).to.deep.equal(['ready', 'pending'])
    expect([node.isOnline('1'), node.isOnline('2')]).to.deep.equal([true, false])
  })

  it('converges: after any sequence of events, exactly the users with a ready socket are recorded and online', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 60, size: 'max' }), async (steps) => {
        const node = nodeWith(...userIds)
        node.store.isHeld = true
        for (const step of steps) await take(node, step)

        node.store.locked.clear()
        node.store.release()
        for (let turn = 0; turn < 12; turn += 1) await node.advance(1_000)
        await node.heartbeat()
        for (let turn = 0; turn < 3; turn += 1) await node.advance(1_000)

        const connected = userIds.filter((id) => readySockets(node, id) > 0)
        expect([...(node.store.rows.get(node.node.id) ?? [])].sort()).to.deep.equal(connected)
        expect([...node.sessions.users()].map(({ id }) => id).sort()).to.deep.equal(connected)
        expect(userIds.filter((id) => node.store.statusOf(id) === 'online')).to.deep.equal(connected)
        expect(node.handshakes.filter(({ outcome }) => outcome === 'pending')).to.deep.equal([])
        await node.presence[Symbol.asyncDispose]()
        expect(node.timer.pending()).to.equal(0)
      }),
      { numRuns: 400 },
    )
  })
})

const userIds = ['1', '2', '3']

const anyUser = fc.constantFrom(...userIds)
const anyStep = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('connect' as const), userId: anyUser, iat: fc.nat(20) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('disconnect' as const), which: fc.nat(30) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('reset' as const), userId: anyUser, at: fc.nat(20) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('changePassword' as const), userId: anyUser, at: fc.nat(20) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), userId: anyUser }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('lock' as const), userId: anyUser }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('unlock' as const), userId: anyUser }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('evict' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('heartbeat' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.constantFrom(5, 30, 500, 5_100) }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      how: fc.constantFrom<TransactionEnd>(
        'committed',
        'committed',
        'committed',
        'failed',
        'lostAfterCommit',
        'lostBeforeCommit',
      ),
    }),
  },
)
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never

async function take(node: ReconciledNode, step: Step): Promise<void> {
  if (step.kind === 'connect') node.connect(step.userId, step.iat)
  else if (step.kind === 'disconnect') disconnectOne(node, step.which)
  else if (step.kind === 'reset') {
    node.store.accounts.get(step.userId)!.passwordChangedAt = step.at * 1000
    node.forceOut(step.userId, 'PasswordReset', step.at + 1)
  } else if (step.kind === 'changePassword') node.store.accounts.get(step.userId)!.passwordChangedAt = step.at * 1000
  else if (step.kind === 'delete') {
    node.store.accounts.get(step.userId)!.isDeleted = true
    node.forceOut(step.userId, 'UserDeleted', 0)
  } else if (step.kind === 'lock') node.store.locked.add(step.userId)
  else if (step.kind === 'unlock') node.store.locked.delete(step.userId)
  else if (step.kind === 'evict') node.store.evict(node.node.id)
  else if (step.kind === 'heartbeat') {
    await node.heartbeat()
  } else if (step.kind === 'advance') node.timer.advance(step.ms)
  else node.store.end(step.how)
  await node.settle()
}

function disconnectOne(node: ReconciledNode, which: number): void {
  const open = node.handshakes.filter(({ socket }) => socket.phase !== 'closing')
  const handshake = open[which % Math.max(1, open.length)]
  if (handshake) node.disconnect(handshake)
}

function nodeWith(...ids: string[]): ReconciledNode {
  const node = new ReconciledNode()
  for (const id of ids) node.store.accounts.set(id, { isDeleted: false, passwordChangedAt: null })
  return node
}

async function signIn(node: ReconciledNode, userId: string, iat = 1): Promise<Handshake> {
  const handshake = node.connect(userId, iat)
  await node.advance(5)
  expect(handshake.outcome).to.equal('ready')
  return handshake
}

/** A handshake that is written and not committed yet. */
async function connectUncommitted(node: ReconciledNode, userId: string): Promise<Handshake> {
  node.store.isHeld = true
  const handshake = node.connect(userId)
  await node.advance(5)
  node.store.end()
  await node.settle()
  return handshake
}

async function failTransactions(node: ReconciledNode, forMs: number): Promise<void> {
  for (let elapsedMs = 0; elapsedMs < forMs; elapsedMs += 100) {
    await node.advance(100)
    if (node.store.isWaiting) node.store.end('failed')
    await node.settle()
  }
}

/** Lets the transaction that comes next write, and ends it. */
async function endNextWrite(node: ReconciledNode, end: TransactionEnd): Promise<void> {
  await node.advance(5)
  node.store.end()
  await node.settle()
  node.store.end(end)
  await node.settle()
}

function readySockets(node: ReconciledNode, userId: string): number {
  const sockets = node.sessions.find(userId)?.sockets ?? []
  return [...sockets].filter(({ phase }) => phase === 'ready').length
}
