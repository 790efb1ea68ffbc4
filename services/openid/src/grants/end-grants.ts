import { ApplicationConsent, OpenidRow } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'

type Of = { accountId?: string; applicationId?: string }

/** Grants first, as a token request locks them. */
export async function deleteTokens(em: EntityManager, of: Of): Promise<void> {
  await em.nativeDelete(OpenidRow, { ...of, model: 'Grant' })
  await em.nativeDelete(OpenidRow, of)
}

/** All that the account allowed the application: dead with the commit, on any replica. The consent goes too. */
export async function endGrantsOf(
  em: EntityManager,
  { accountId, applicationId }: { accountId: string; applicationId: string },
): Promise<void> {
  await deleteTokens(em, { accountId, applicationId })
  await em.nativeDelete(ApplicationConsent, { accountId, applicationId })
}

/** All that anybody allowed the application. What is left of it names an application that no longer exists. */
export async function endApplication(em: EntityManager, applicationId: string): Promise<void> {
  await deleteTokens(em, { applicationId })
  await em.nativeDelete(ApplicationConsent, { applicationId })
}

/** Of an account that was deleted, once the applications are told. */
export async function endGrantsOfAccount(em: EntityManager, accountId: string): Promise<void> {
  await deleteTokens(em, { accountId })
  await em.nativeDelete(ApplicationConsent, { accountId })
}
