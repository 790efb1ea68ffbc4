import type { FederationFanoutConfig } from '../config.ts'
import type { NativeUser } from '../queries/native-users.ts'

/** A user of this instance as peers are told, in the order of the existing instances. federation-wire.md 3. */
export function profileEvent(
  { publicAddress: { origin } }: Pick<FederationFanoutConfig, 'publicAddress'>,
  user: NativeUser,
) {
  const picture = (name: string | null | undefined) => (name ? `${origin}/api/uploads/${name}` : null)
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
      displayName: user.displayName ?? null,
      avatar: picture(user.avatar),
      banner: picture(user.banner),
      accentColor: user.accentColor ?? null,
      avatarColor: user.avatarColor ?? null,
      bio: user.bio ?? null,
    },
  }
}
