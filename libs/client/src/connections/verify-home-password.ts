import type { Api } from '../api/api.ts'
import { ApiError } from '../api/errors.ts'
import type { CallOptions } from '../api/options.ts'
import type { User } from '../api/records.ts'

/**
 * Verifies the password with the own instance before it is sent to others. Not for users whose home is elsewhere: this
 * instance cannot verify their password. Throws a 403 when it is wrong.
 */
export async function verifyHomePassword(
  api: Pick<Api, 'users'>,
  user: Pick<User, 'homeInstance'>,
  password: string,
  options: CallOptions = {},
): Promise<void> {
  if (user.homeInstance !== null) return
  const { valid } = await api.users.verifyPassword(password, options)
  if (!valid) throw new ApiError(403, 'Incorrect password')
}
