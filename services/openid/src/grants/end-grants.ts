import { changeRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

/** All that the account allowed the application: dead with the commit, on any replica. The consent goes too. */
export async function endGrantsOf(em: EntityManager, of: { accountId: string; applicationId: string }): Promise<void> {
  const parameters = [of.accountId, of.applicationId]
  await changeRows(em, 'delete from openid_rows where account_id = ? and application_id = ?', parameters)
  await changeRows(em, 'delete from application_consents where account_id = ? and application_id = ?', parameters)
}

/** All that anybody allowed the application. What is left of it names an application that no longer exists. */
export async function endApplication(em: EntityManager, applicationId: string): Promise<void> {
  await changeRows(em, 'delete from openid_rows where application_id = ?', [applicationId])
  await changeRows(em, 'delete from application_consents where application_id = ?', [applicationId])
}

/** Of an account that was deleted, once the applications are told. */
export async function endGrantsOfAccount(em: EntityManager, accountId: string): Promise<void> {
  await changeRows(em, 'delete from openid_rows where account_id = ?', [accountId])
  await changeRows(em, 'delete from application_consents where account_id = ?', [accountId])
}
