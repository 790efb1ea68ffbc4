import * as limits from './limits.ts'

/** A color is chosen at random if a registration names none. Spec: User record, avatarColor. */
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

const ofHome = { managedBy: 'home', inLookup: true, shownTo: 'everybody' } as const
const ofPerson = { managedBy: 'person', inLookup: false, shownTo: 'everybody' } as const

/**
 * What a person says of themselves. `managedBy: 'home'`: its home instance decides it for a federated account and relays
 * it to peers. The column, the entity's property and the input of the web app's form are written by hand.
 * Contract: 2, fields; 3, profiles of federated accounts; 7, profiles; protocol.md 3, 4.
 */
export const profileFields = {
  displayName: { kind: 'text', lines: 'one', max: limits.displayNameMax, ...ofHome },
  avatar: { kind: 'picture', ...ofHome },
  banner: { kind: 'picture', ...ofHome },
  accentColor: { kind: 'accentColor', ...ofHome },
  avatarColor: { kind: 'avatarColor', ...ofHome },
  bio: { kind: 'text', lines: 'many', max: limits.bioMax, ...ofHome },
  customStatus: { kind: 'text', lines: 'one', max: limits.customStatusMax, ...ofPerson },
  discoverable: { kind: 'flag', ...ofPerson },
  showActivity: { kind: 'flag', ...ofPerson, shownTo: 'self' },
} as const satisfies Record<string, ProfileField>

type Fields = typeof profileFields
export type ProfileFieldName = keyof Fields
type NamesWith<Part> = { [N in ProfileFieldName]: Fields[N] extends Part ? N : never }[ProfileFieldName]

export const profileFieldNames = /* @__PURE__ */ Object.keys(profileFields) as ProfileFieldName[]

/** The names of the fields that are declared so, in the order of their declaration. */
export function fieldsWith<const Part extends Partial<ProfileField>>(part: Part): NamesWith<Part>[] {
  const isSo = (field: ProfileField) =>
    Object.entries(part).every(([key, value]) => field[key as keyof ProfileField] === value)
  return profileFieldNames.filter((name) => isSo(profileFields[name])) as NamesWith<Part>[]
}

export const isNewField = (name: ProfileFieldName): boolean => 'isNew' in profileFields[name]

/** Of a federated account these are its home's. */
export const homeFields = /* @__PURE__ */ fieldsWith({ managedBy: 'home' })
export const lookupFields = /* @__PURE__ */ fieldsWith({ inLookup: true })
export const pictureFields = /* @__PURE__ */ fieldsWith({ kind: 'picture' })
