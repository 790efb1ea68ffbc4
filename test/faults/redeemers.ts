import { setTimeout as pause } from 'node:timers/promises'
import type { History } from './history.ts'
import type { InstanceClient } from './instance-client.ts'
import type { TestUser } from './users.ts'

type Invite = { id: string; token: string; maxUses: number; acknowledged: string[] }

const slots = 2
const registrants = 4
/** Without a pause, hashing for the guests never rests. */
const betweenInvitesMs = 500

/** Creates invites and registers more users than slots with each at once. Spec: Registration 11. */
export async function redeem(instance: InstanceClient, history: History, admin: TestUser, stop: AbortSignal) {
  const invites: Invite[] = []
  for (let round = 1; !stop.aborted; round += 1) {
    await pause(betweenInvitesMs)
    const body = { name: `round ${round}`, maxUses: slots, expiresAt: null }
    const answer = await instance.call('POST', '/api/admin/invites', { token: admin.token, body })
    if (answer?.status !== 201) continue
    const invite: Invite = { ...(answer.body as { id: string; token: string }), maxUses: slots, acknowledged: [] }
    invites.push(invite)
    await Promise.all(
      Array.from({ length: registrants }, (_, index) => apply(instance, invite, `guest_${round}_${index}`)),
    )
    history.count('registrations by invite acknowledged', invite.acknowledged.length)
  }
  return { check: () => checkAll(instance, history, admin, invites) }
}

async function apply(instance: InstanceClient, invite: Invite, username: string): Promise<void> {
  const body = { username, password: 'a long guest password', inviteToken: invite.token }
  const answer = await instance.call('POST', '/api/auth/register', { body })
  if (answer?.status === 201) invite.acknowledged.push(username)
}

/** Each acknowledged registration has one redemption, and no invite more than its slots. */
async function checkAll(instance: InstanceClient, history: History, admin: TestUser, invites: Invite[]): Promise<void> {
  for (const { id, maxUses, acknowledged } of invites) {
    const answer = await instance.call('GET', `/api/admin/invites/${id}/redemptions`, { token: admin.token })
    const rows = (answer?.body.redemptions ?? []) as { registrantUsername: string }[]
    const names = rows.map(({ registrantUsername }) => registrantUsername)
    history.count('invites checked')
    if (names.length > maxUses) history.violation(`invite ${id}: ${names.length} redemptions of ${maxUses}`)
    if (new Set(names).size !== names.length) history.violation(`invite ${id}: a user redeemed it twice`)
    const lostNames = acknowledged.filter((name) => !names.includes(name))
    if (lostNames.length > 0) history.violation(`invite ${id}: no redemption of ${lostNames.join(', ')}`)
  }
}
