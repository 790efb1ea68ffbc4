import type { Page } from 'playwright-core'
import { findFaults } from './accessible.ts'
import * as actions from './actions.ts'
import { shown } from './shown.ts'

/** A page to check once it shows the text `ready`, and what to open on it first. Dialogs are checked in dialog-walk.ts. */
export type Target = { name: string; path: string; ready: string | RegExp; open?: (page: Page) => Promise<void> }

/** Of nobody. */
export const publicPages: Target[] = [
  { name: 'login', path: '/login', ready: 'Create an account' },
  {
    name: 'registration',
    path: '/register',
    ready: shown('Step {current} of 2', { current: 1 }),
    open: (page) => actions.click(page, 'Continue'),
  },
  { name: 'new password', path: '/recover#1.x', ready: 'Confirm new password' },
  { name: 'forgotten password', path: '/forgot', ready: 'Username or email address' },
  { name: 'address to confirm', path: '/confirm-email#token=x', ready: 'Confirm your email address' },
  { name: 'canceled login', path: '/sign-in#error=cancelled', ready: 'The login was canceled.' },
  { name: 'unknown application', path: '/authorize#error=invalid_client', ready: /^This instance doesn’t know/ },
  { name: 'end of an application', path: '/authorize#logout=done', ready: 'Logged out of the application' },
  { name: 'page not found', path: '/no-such-page', ready: 'Page not found' },
]

/** Of alice, the admin, in the instance that filled-instance.ts fills. */
export const accountPages: Target[] = [
  { name: 'home', path: '/channels/@me', ready: 'Online' },
  { name: 'account menu', path: '/channels/@me', ready: 'Online', open: (page) => actions.click(page, 'Your account') },
  { name: 'own email address', path: '/settings/security', ready: 'not confirmed' },
  { name: 'own invites', path: '/settings/invites', ready: 'Friends' },
  { name: 'own applications', path: '/settings/applications', ready: 'Wiki' },
  { name: 'code of a device', path: '/device', ready: 'Connect a device' },
  { name: 'overview', path: '/admin', ready: 'Registrations per day' },
  { name: 'users', path: '/admin/users', ready: '@bert' },
  {
    name: 'page of a user',
    path: '/admin/users',
    ready: '@bert',
    open: async (page) => {
      await page.getByRole('link', { name: '@bert' }).click()
      await page.getByRole('heading', { name: shown('Recent activity') }).waitFor()
    },
  },
  {
    name: 'menu of a user',
    path: '/admin/users',
    ready: '@bert',
    open: (page) => actions.click(page, shown('Actions for {username}', { username: 'bert' })),
  },
  { name: 'registrations', path: '/admin/registrations', ready: 'I sing in the choir.' },
  {
    name: 'selected registrations',
    path: '/admin/registrations',
    ready: 'I sing in the choir.',
    open: (page) => actions.click(page, shown('Select network {network}', { network: '198.51.100.0' })),
  },
  { name: 'invites', path: '/admin/invites', ready: 'Friends' },
  { name: 'applications', path: '/admin/applications', ready: 'Wiki' },
  { name: 'settings', path: '/admin/settings', ready: 'Who can register' },
  { name: 'federation', path: '/admin/federation', ready: 'b.example' },
  { name: 'orders', path: '/admin/federation/orders', ready: 'No pending deletions.' },
  { name: 'API page', path: '/api/docs', ready: 'Your token' },
  { name: 'audit log', path: '/admin/audit', ready: 'alice' },
]

/** Targets of one path that follow each other share a page: loading it takes as long as checking it. */
export async function findFaultsOf(page: Page, origin: string, { name, path, ready, open }: Target): Promise<string[]> {
  if (page.url() !== origin + path) await page.goto(origin + path)
  await actions.waitForText(page, ready)
  await open?.(page)
  const faults = await findFaults(page, { namesRepeat: path === '/api/docs' })
  return faults.map((fault) => `${name}, ${fault}`)
}
