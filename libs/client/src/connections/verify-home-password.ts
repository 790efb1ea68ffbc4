import type { Api } from '../api/api.ts'
import { ApiError } from '../api/errors.ts'
import type { CallOptions } from '../api/options.ts'
import type { User } from '../api/records.ts'

/** Only for users at home here. Throws a 403 for a wrong password. */
export async function verifyHomePassword(
  api: Pick<Api, 'call'>,
  user: Pick<User, 'homeInstance'>,
  password: string,
  options: CallOptions = {},
): Promise<void> {
  if (user.homeInstance !== null) return
  const { valid } = await api.call('verifyPassword', { body: { password }, ...options })
  if (!valid) throw new ApiError(403, 'Incorrect password')
}
