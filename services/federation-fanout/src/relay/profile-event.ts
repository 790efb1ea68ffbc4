import { homeFields, profileFields } from '@gatehouse/contracts'
import type { FederationFanoutConfig } from '../config.ts'
import type { NativeUser } from '../queries/native-users.ts'

/** In the order of existing instances. federation-wire.md 3. */
export function profileEvent(
  { publicAddress: { origin } }: Pick<FederationFanoutConfig, 'publicAddress'>,
  user: NativeUser,
) {
  const told = homeFields.map((field): [string, string | null] => {
    const value = user[field] ?? null
    return [field, value && profileFields[field].kind === 'picture' ? `${origin}/api/uploads/${value}` : value]
  })
  return {
    eventType: 'profile_update',
    contextType: 'profile',
    messageId: user.id,
    encryptionVersion: 0,
    timestamp: user.profileUpdatedAt,
    profileUpdate: {
      homeUserId: user.id,
      homeInstance: origin,
      profileUpdatedAt: user.profileUpdatedAt,
      username: user.username,
      ...Object.fromEntries(told),
    },
  }
}
