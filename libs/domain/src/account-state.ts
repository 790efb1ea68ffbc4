import type { AccountState } from '@gatehouse/contracts'
import type { UserFacts } from './user-facts.ts'

/** What decides over the tokens of a loaded user. Design: invariant 1. */
export function accountStateOf(user: UserFacts): AccountState {
  return {
    userId: user.id,
    version: user.stateVersion,
    username: user.username,
    isDeleted: user.isDeleted,
    isAdmin: user.isAdmin,
    passwordChangedAt: user.passwordChangedAt ?? null,
    sessionsEndedAt: user.sessionsEndedAt ?? null,
  }
}
