import { callApi } from '../api.ts'
import { accountPassword, type Account } from './accounts.ts'

/** Behind a proxy, so that each account, and each of its devices, has a network and limits of its own. */
export const headersOf = ({ id }: Account, device = 0) => ({
  'x-forwarded-for': `${10 + device}.${Number(id) & 255}.${(Number(id) >> 8) & 255}.7`,
})

/** A token of now. Undefined where the login is not answered, or is refused. */
export async function logIn(account: Account, gateway: string, device?: number): Promise<string | undefined> {
  const body = { username: account.username, password: accountPassword }
  const options = { body, headers: headersOf(account, device) }
  return await callApi(gateway, 'POST /api/auth/login', options).then(
    ({ status, body: { token } }) => (status === 200 ? token : undefined),
    () => undefined,
  )
}

export type Revocation = { kind: string; send(gateway: string): Promise<{ status: number }> }

/** The ways to revoke an account's tokens. After those of a local one its password lets nobody in. */
export function revocationsOf(account: Account, admin: Account): Revocation[] {
  const { id, username, token, isFederated } = account
  const headers = headersOf(account)
  const call = (kind: string, request: string, options: { token: string; body?: object }): Revocation => ({
    kind,
    send: (gateway) => callApi(gateway, request, { ...options, headers }),
  })
  const removal = call('deletion by an admin', `DELETE /api/admin/users/${id}`, { token: admin.token })
  const newPassword = 'another horse battery'
  if (!isFederated) {
    const passwords = { currentPassword: accountPassword, newPassword }
    return [
      removal,
      call('password change', 'POST /api/users/@me/change-password', { token, body: passwords }),
      call('suspension', `POST /api/admin/users/${id}/suspend`, { token: admin.token, body: { reason: 'spam' } }),
      call('reset by an admin', `POST /api/admin/users/${id}/reset-password`, { token: admin.token }),
    ]
  }
  const deletion = call('deletion', 'DELETE /api/users/@me', { token, body: { username, password: '' } })
  const ending = call('sessions ended', 'POST /api/users/@me/sessions/end', { token, body: {} })
  return [
    removal,
    deletion,
    ending,
    call('password change', 'POST /api/users/@me/change-password', { token, body: { newPassword } }),
  ]
}
