import type { History } from './history.ts'
import type { Instance } from './instance.ts'
import type { Person } from './people.ts'

type Invite = { id: string; token: string; maxUses: number; acknowledged: string[] }

const SLOTS = 2
const APPLICANTS = 4

/** Makes invite links and has more people than slots register with each at the same moment. Spec: Registration 11. */
export async function redeem(instance: Instance, history: History, admin: Person, stop: AbortSignal) {
  const invites: Invite[] = []
  for (let round = 1; !stop.aborted; round += 1) {
    const body = { name: `round ${round}`, maxUses: SLOTS, expiresAt: null }
    const made = await instance.call('POST', '/api/admin/invites', { token: admin.token, body })
    if (made?.status !== 201) continue
    const invite: Invite = { ...(made.body as { id: string; token: string }), maxUses: SLOTS, acknowledged: [] }
    invites.push(invite)
    await Promise.all(
      Array.from({ length: APPLICANTS }, (_, index) => apply(instance, invite, `guest_${round}_${index}`)),
    )
    history.count('registrations by invite acknowledged', invite.acknowledged.length)
  }
  return { check: () => checkAll(instance, history, admin, invites) }
}

async function apply(instance: Instance, invite: Invite, username: string): Promise<void> {
  const body = { username, password: 'the password of a guest', inviteToken: invite.token }
  const answer = await instance.call('POST', '/api/auth/register', { body })
  if (answer?.status === 201) invite.acknowledged.push(username)
}

/** Who was let in is in the book, nobody twice, and never more than there were slots. */
async function checkAll(instance: Instance, history: History, admin: Person, invites: Invite[]): Promise<void> {
  for (const { id, maxUses, acknowledged } of invites) {
    const answer = await instance.call('GET', `/api/admin/invites/${id}/redemptions`, { token: admin.token })
    const rows = (answer?.body.redemptions ?? []) as { registrantUsername: string }[]
    const names = rows.map(({ registrantUsername }) => registrantUsername)
    history.count('invites checked')
    if (names.length > maxUses) history.breach(`invite ${id}: ${names.length} redemptions of ${maxUses}`)
    if (new Set(names).size !== names.length) history.breach(`invite ${id}: somebody redeemed it twice`)
    const lost = acknowledged.filter((name) => !names.includes(name))
    if (lost.length > 0) history.breach(`invite ${id}: no redemption of ${lost.join(', ')}`)
  }
}
