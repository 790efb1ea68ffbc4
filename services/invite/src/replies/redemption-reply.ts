import type { RedemptionReply } from '@gatehouse/contracts'
import type { InviteRedemption } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { findCurrentNames } from '../queries/find-current-names.ts'

/** Redemptions with the name of that day and the name of today; an account that is gone counts as deleted. Contract: 4. */
export async function redemptionReplies(
  deps: Pick<Deps, 'orm'>,
  redemptions: readonly InviteRedemption[],
): Promise<RedemptionReply[]> {
  const names = await findCurrentNames(
    deps,
    redemptions.map((redemption) => redemption.userId),
  )
  return redemptions.map(({ id, userId, registrantUsername, redeemedAt }) => {
    const current = names.get(userId ?? '')
    return {
      id,
      userId: userId ?? null,
      registrantUsername,
      currentUsername: current?.username ?? null,
      isDeleted: current?.isDeleted ?? true,
      redeemedAt: redeemedAt.getTime(),
    }
  })
}
