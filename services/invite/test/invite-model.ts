import type { InviteReply, InviteStatus } from '@gatehouse/contracts'

/** An invite as it should be. Times in ms from the start of the run. */
export type ModelInvite = {
  id: string
  tokens: string[]
  maxUses: number | null
  expiresAt: number | null
  revoked: boolean
  redemptions: number
}

export type Change = { maxUses?: number | null; expiresAt?: number | null }

/** What the specification says of invites, in the plainest words: what the service is held against. */
export class InviteModel {
  now = 0
  invites: ModelInvite[] = []

  pick(index: number): ModelInvite {
    return this.invites[index % this.invites.length]!
  }

  statusOf(invite: ModelInvite): InviteStatus {
    if (invite.revoked) return 'revoked'
    if (invite.expiresAt !== null && invite.expiresAt < this.now) return 'expired'
    return this.slotsOf(invite) <= 0 ? 'exhausted' : 'active'
  }

  slotsOf({ maxUses, redemptions }: ModelInvite): number {
    return maxUses === null ? Infinity : maxUses - redemptions
  }

  patch(invite: ModelInvite, change: Change): 200 | 400 | 409 {
    if (invite.revoked) return 409
    if (change.maxUses != null && change.maxUses < invite.redemptions) return 400
    Object.assign(invite, change)
    return 200
  }

  revoke(invite: ModelInvite): 200 | 409 {
    if (invite.revoked) return 409
    invite.revoked = true
    return 200
  }

  reinstate(invite: ModelInvite, change: Change): 200 | 400 | 409 {
    if (this.statusOf(invite) === 'active') return 409
    const reinstated = { ...invite, ...change, revoked: false }
    if (this.statusOf(reinstated) !== 'active') return 400
    Object.assign(invite, reinstated)
    return 200
  }

  /** How many of `attempts` with that token come through. */
  redeem(invite: ModelInvite, { token, attempts }: { token: string; attempts: number }): number {
    if (token !== invite.tokens.at(-1) || this.statusOf(invite) !== 'active') return 0
    const admitted = Math.min(attempts, this.slotsOf(invite))
    invite.redemptions += admitted
    return admitted
  }

  remove(invite: ModelInvite): void {
    this.invites.splice(this.invites.indexOf(invite), 1)
  }

  /** What a list should show, newest first. */
  list(archived: boolean, epoch: number): Partial<InviteReply>[] {
    const shown = this.invites.filter((invite) => (this.statusOf(invite) !== 'active') === archived)
    return shown.toReversed().map((invite) => ({
      id: invite.id,
      token: invite.tokens.at(-1)!,
      status: this.statusOf(invite),
      maxUses: invite.maxUses,
      usedCount: invite.redemptions,
      expiresAt: invite.expiresAt === null ? null : epoch + invite.expiresAt,
    }))
  }
}
