import type { AuditAction } from '@gatehouse/contracts'
import { nextId, recordAudit } from '@gatehouse/database'
import { expect } from 'chai'
import { AuditEntry, User, accountStateOf, type RevocationTime } from '@gatehouse/domain'
import { openMigratedDatabase } from '@gatehouse/test-kit'
import { readAccountStates } from '../src/index.ts'

describe('account states', () => {
  it('read from the table equal those of the loaded user; unknown ids are missing', async () => {
    await using database = await openMigratedDatabase()
    const em = database.orm.em.fork()
    const times = { passwordChangedAt: 1_700_000_000_001 as RevocationTime, sessionsEndedAt: 1_700_000_000_002 }
    const facts = { isAdmin: true, ...times, secondFactorDue: true }
    const user = em.create(User, {
      ...facts,
      id: await nextId(em),
      username: 'ada',
      passwordHash: 'x',
      stateVersion: 7,
      createdAt: new Date(),
    })
    await em.persist(user).flush()

    const states = await readAccountStates(em, [user.id, '1'])

    expect(states).to.deep.equal([{ ...facts, userId: user.id, version: 7, username: 'ada', isDeleted: false }])
    expect(accountStateOf(await database.orm.em.fork().findOneOrFail(User, { id: user.id }))).to.deep.equal(states[0])
    expect(await readAccountStates(em, [])).to.deep.equal([])
  })

  it('have a higher version when the password changes', () => {
    const user = Object.assign(Object.create(User.prototype) as User, { stateVersion: 3, passwordHash: 'old' })

    user.changePassword('new', 1_700_000_000_000 as RevocationTime)

    expect(user).to.include({ stateVersion: 4, passwordHash: 'new', passwordChangedAt: 1_700_000_000_000 })
  })
})

describe('the audit log', () => {
  it('holds an act exactly when its transaction committed', async () => {
    await using database = await openMigratedDatabase()
    const em = database.orm.em.fork()
    const actor = em.create(User, { id: '5', username: 'boss', passwordHash: 'x', createdAt: new Date() })
    await em.persist(actor).flush()
    const act = (action: string, fails: boolean) =>
      database.orm.em.fork().transactional(async (transaction) => {
        const target = { type: 'settings', id: null } as const
        recordAudit(transaction, {
          action: action as AuditAction,
          actor: { userId: '5', username: 'boss' },
          target,
          at: new Date(7),
        })
        if (fails) throw new Error('no')
      })

    await act('kept', false)
    await act('undone', true).catch(() => undefined)

    const entries = await database.orm.em.fork().findAll(AuditEntry)
    expect(entries.map(({ action, actorUsername, detail }) => ({ action, actorUsername, detail }))).to.deep.equal([
      { action: 'kept', actorUsername: 'boss', detail: {} },
    ])
    expect(entries[0]!.createdAt.getTime()).to.equal(7)
  })
})
