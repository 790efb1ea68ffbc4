import { buffer } from 'node:stream/consumers'
import type { Browser, BrowserContext, BrowserContextOptions, Download, Page } from 'playwright-core'
import { shown, shownText } from './shown.ts'
import { newAddress, type Instance } from './start-instance.ts'

export type Account = { username: string; password: string }

type PageOptions = {
  path?: string
  /** Of this address, instead of one that no other page has. */
  address?: string
  /** Of this account, instead of nobody. */
  token?: string
  context?: BrowserContextOptions
  /** Comes before the first page of the context. */
  prepare?: (context: BrowserContext) => Promise<unknown>
}

/** Opens a page in a browser context of its own, which shares neither storage nor the limits of a network with the others. */
export async function openPage(browser: Browser, instance: Instance, place: string | PageOptions = '/'): Promise<Page> {
  const options = typeof place === 'string' ? { path: place } : place
  const { path = '/', address = newAddress(), token, prepare } = options
  // A header of one's own would make every request to a peer ask first whether it may have that.
  const extraHTTPHeaders = instance.hasPeers ? {} : { 'x-forwarded-for': address }
  const context = await browser.newContext({ reducedMotion: 'reduce', extraHTTPHeaders, ...options.context })
  await prepare?.(context)
  const page = await context.newPage()
  if (token) await keepToken(page, instance, token)
  await page.goto(instance.origin + path)
  return page
}

/** As a login does, without the login page. A later logout counts. */
async function keepToken(page: Page, instance: Instance, token: string): Promise<void> {
  await page.goto(`${instance.origin}/theme.js`)
  await page.evaluate((value) => localStorage.setItem('service_token', value), token)
}

export function click(page: Page, button: string | RegExp): Promise<void> {
  return page
    .getByRole('button', { name: shownText(button) })
    .first()
    .click()
}

/** Clicks a button of the open dialog. */
export function clickInDialog(page: Page, button: string): Promise<void> {
  return page
    .getByRole('dialog')
    .getByRole('button', { name: shownText(button), exact: true })
    .click()
}

/** Clicks an act in the menu of a user, an invite or a peer. */
export async function clickInMenu(page: Page, name: string, act: string): Promise<void> {
  await click(page, shown('Actions for {username}', { username: name }))
  await click(page, act)
}

/** Fills the field with this label, optional or not. */
export function fillField(page: Page, label: string, text: string): Promise<void> {
  const literal = shownText(label).replaceAll(/[()]/g, String.raw`\$&`)
  const field = page.getByLabel(new RegExp(`^${literal}( \\(optional\\))?$`))
  return field.and(page.locator('input, textarea')).fill(text)
}

export async function waitForText(page: Page, text: string | RegExp): Promise<void> {
  await page.getByText(shownText(text)).filter({ visible: true }).first().waitFor()
}

/** Goes through both steps of the registration, starting on the first. */
export async function register(page: Page, { username, password }: Account): Promise<void> {
  await fillField(page, 'Username', username)
  await fillField(page, 'Password', password)
  await fillField(page, 'Confirm password', password)
  await click(page, 'Continue')
  await click(page, 'Create account')
  await waitForHomePage(page)
}

export async function logIn(page: Page, { username, password }: Account): Promise<void> {
  await fillField(page, 'Username', username)
  await fillField(page, 'Password', password)
  await click(page, 'Log in')
}

export async function waitForHomePage(page: Page): Promise<void> {
  await page.waitForURL('**/channels/@me')
  await waitForText(page, 'Connected instances')
}

export async function changePassword(page: Page, from: string, to: string): Promise<void> {
  await openSettings(page, 'security')
  await fillField(page, 'Current password', from)
  await fillField(page, 'New password', to)
  await fillField(page, 'Confirm new password', to)
  await click(page, 'Change password')
  await waitForText(page, /^Password changed\./)
}

/** Goes to a path without a load, as a link of the app does. */
export function follow(page: Page, path: string): Promise<void> {
  return page.evaluate((to) => {
    history.pushState(null, '', to)
    dispatchEvent(new PopStateEvent('popstate'))
  }, path)
}

export function openSettings(page: Page, part: string): Promise<void> {
  return follow(page, `/settings/${part}`)
}

export async function logOut(page: Page): Promise<void> {
  await click(page, 'Your account')
  await page.getByRole('button', { name: shown('Log out'), exact: true }).click()
}

/** Its whole content. */
export async function readDownload(download: Download): Promise<Buffer> {
  return buffer(await download.createReadStream())
}

/** The path after a reload, which depends on whether the stored token is still valid. */
export async function pathAfterReload(page: Page): Promise<string> {
  await page.reload()
  await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' })
  await page
    .getByText(/Log in|Connected instances/)
    .first()
    .waitFor()
  return new URL(page.url()).pathname
}
