import type { Api } from '../api/api.ts'
import { ApiError } from '../api/errors.ts'
import type { User } from '../api/records.ts'
import type { CallOptions } from '../api/request.ts'

/**
 * Asks the home instance whether the password is right before other instances are told to act on it. A visitor, whose
 * home is elsewhere, is not asked: passwords are no proof here for them. Throws a 403 when it is wrong.
 */
export async function provePassword(
  api: Pick<Api, 'users'>,
  user: Pick<User, 'homeInstance'>,
  password: string,
  call: CallOptions = {},
): Promise<void> {
  if (user.homeInstance !== null) return
  const { valid } = await api.users.verifyPassword(password, call)
  if (!valid) throw new ApiError(403, 'Incorrect password')
}
