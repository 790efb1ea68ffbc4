import * as limits from './limits.ts'

const pattern = /^[a-z0-9_]+\*?$/

/** What an admin may reserve: a local username, or the beginning of some, which ends in `*`. Contract: 5, Settings. */
export function isReservation(text: string): boolean {
  return pattern.test(text) && text.length <= limits.localUsernameMax
}

/** Whether nobody may register the username. Contract: 5, Settings. */
export function isReservedUsername(username: string, reservations: readonly string[]): boolean {
  return reservations.some((name) => (name.endsWith('*') ? username.startsWith(name.slice(0, -1)) : username === name))
}

/** As people type them: separated by spaces or commas. */
export const splitReservations = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)

/** Roles, services and everybody: names under which others could be deceived. */
export const commonReservations: readonly string[] = [
  'abuse',
  'account',
  'accounts',
  'admin*',
  'all',
  'announcements',
  'anonymous',
  'api',
  'assistant',
  'billing',
  'bot',
  'contact',
  'deleted',
  'everybody',
  'everyone',
  'feedback',
  'gatehouse',
  'guest',
  'help',
  'helpdesk',
  'here',
  'host',
  'hostmaster',
  'info',
  'instance',
  'invite',
  'legal',
  'login',
  'mail',
  'mod',
  'moderation',
  'moderator*',
  'mods',
  'news',
  'nobody',
  'noreply',
  'notifications',
  'null',
  'official',
  'operator',
  'owner',
  'password',
  'postmaster',
  'press',
  'privacy',
  'register',
  'root',
  'safety',
  'security',
  'server',
  'settings',
  'signup',
  'somebody',
  'staff',
  'status',
  'superuser',
  'support*',
  'sysadmin',
  'system',
  'team',
  'undefined',
  'unknown',
  'user',
  'webmaster',
  'welcome',
]
