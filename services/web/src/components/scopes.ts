import { t, type Text } from '../language/language.ts'

const scopeTexts: Readonly<Record<string, Text>> = {
  openid: 'Recognize your account when you log in',
  profile: 'See your username, display name and avatar',
  offline_access: 'Keep this access while you’re away, until you end it',
}

/** A scope without a text is one of a later release. */
export function describeScope(scope: string): string {
  const text = Object.hasOwn(scopeTexts, scope) ? scopeTexts[scope] : undefined
  return text ? t(text) : scope
}
