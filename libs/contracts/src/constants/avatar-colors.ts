/** Spec: User record, avatarColor. */
export const avatarColors = ['mint', 'sky', 'lavender', 'coral', 'rose', 'teal', 'amber'] as const
export type AvatarColor = (typeof avatarColors)[number]
