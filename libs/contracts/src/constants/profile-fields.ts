import * as limits from './limits.ts'

/** Spec: User record, avatarColor. */
export const avatarColors = ['mint', 'sky', 'lavender', 'coral', 'rose', 'teal', 'amber'] as const
export type AvatarColor = (typeof avatarColors)[number]

/** A text, a color and a picture may be null. */
export type ProfileField = {
  /** Whether everybody sees it, or the person alone. */
  shownTo: 'everybody' | 'self'
  /** Whether the answer to a peer that looks a user up names it. */
  inLookup: boolean
  /** Unknown to the release before: its messages on the bus lack it. */
  isNew?: true
} & (
  | { kind: 'text'; max: number; lines: 'one' | 'many'; managedBy: 'home' | 'person' }
  | { kind: 'accentColor' | 'avatarColor' | 'picture'; managedBy: 'home' | 'person' }
  | { kind: 'flag'; managedBy: 'person' }
)

/**
 * What a person says of themselves. `managedBy: 'home'`: its home instance decides it for a federated account and relays
 * it to peers. The column, the entity's property and the input of the web app's form are written by hand.
 * Contract: 2, 3, 7; federation-wire.md 3, 4.
 */
export const profileFields = {
  displayName: {
    kind: 'text',
    lines: 'one',
    max: limits.displayNameMax,
    managedBy: 'home',
    inLookup: true,
    shownTo: 'everybody',
  },
  avatar: { kind: 'picture', managedBy: 'home', inLookup: true, shownTo: 'everybody' },
  banner: { kind: 'picture', managedBy: 'home', inLookup: true, shownTo: 'everybody' },
  accentColor: { kind: 'accentColor', managedBy: 'home', inLookup: true, shownTo: 'everybody' },
  avatarColor: { kind: 'avatarColor', managedBy: 'home', inLookup: true, shownTo: 'everybody' },
  bio: { kind: 'text', lines: 'many', max: limits.bioMax, managedBy: 'home', inLookup: true, shownTo: 'everybody' },
  customStatus: {
    kind: 'text',
    lines: 'one',
    max: limits.customStatusMax,
    managedBy: 'person',
    inLookup: false,
    shownTo: 'everybody',
  },
  discoverable: { kind: 'flag', managedBy: 'person', inLookup: false, shownTo: 'everybody' },
  showActivity: { kind: 'flag', managedBy: 'person', inLookup: false, shownTo: 'self' },
} as const satisfies Record<string, ProfileField>

type Fields = typeof profileFields
export type ProfileFieldName = keyof Fields
export type ProfileKind = ProfileField['kind']
type NamesWith<Part> = { [N in ProfileFieldName]: Fields[N] extends Part ? N : never }[ProfileFieldName]

export const profileFieldNames = /* @__PURE__ */ Object.keys(profileFields) as ProfileFieldName[]

/** The names of the fields that are declared so, in the order of their declaration. */
export function fieldsWith<const Part extends Partial<ProfileField>>(part: Part): NamesWith<Part>[] {
  const isSo = (name: ProfileFieldName) =>
    Object.entries(part).every(
      ([key, value]) => (profileFields[name] as ProfileField)[key as keyof ProfileField] === value,
    )
  return profileFieldNames.filter(isSo) as NamesWith<Part>[]
}

export const isNewField = (name: ProfileFieldName): boolean => 'isNew' in profileFields[name]

/** Of a federated account these are its home's. */
export const homeFields = /* @__PURE__ */ fieldsWith({ managedBy: 'home' })
export const lookupFields = /* @__PURE__ */ fieldsWith({ inLookup: true })
export const pictureFields = /* @__PURE__ */ fieldsWith({ kind: 'picture' })
