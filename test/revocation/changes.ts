import { callApi } from '../api.ts'
import type { Account } from './accounts.ts'

export type Change = { kind: string; carryOut(gateway: string): Promise<{ status: number }> }

/** The ways in which an account's tokens can die; those that cost no hash, of which more fit in the time, stand twice. */
export function changesFor(account: Account, admin: Account): Change[] {
  const { id, username, token, isFederated } = account
  // Behind a proxy, so that each account has an address and limits of its own.
  const headers = { 'x-forwarded-for': `10.${Number(id) & 255}.${(Number(id) >> 8) & 255}.7` }
  const call = (kind: string, request: string, options: { token: string; body?: object }): Change => ({
    kind,
    carryOut: (gateway) => callApi(gateway, request, { ...options, headers }),
  })
  const removal = call('deletion by an admin', `DELETE /api/admin/users/${id}`, { token: admin.token })
  if (!isFederated) {
    return [
      removal,
      removal,
      call('reset by an admin', `POST /api/admin/users/${id}/reset-password`, { token: admin.token }),
    ]
  }
  const body = { newPassword: 'correct horse battery' }
  const deletion = call('deletion', 'DELETE /api/users/@me', { token, body: { username, password: '' } })
  return [removal, deletion, deletion, call('password change', 'POST /api/users/@me/change-password', { token, body })]
}
