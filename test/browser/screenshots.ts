// npm run screenshots: makes the pictures in docs/images anew, from an instance with a few users.
import { join } from 'node:path'
import sharp from 'sharp'
import type { Browser, Page } from 'playwright-core'
import { startRunEnvironment } from '../../libs/test-kit/src/run-environment.ts'
import type { Instance } from './start-instance.ts'
import { answered } from '@gatehouse/test-kit'

const images = join(import.meta.dirname, '../../docs/images')
const password = 'a long password'
const people = [
  ['ada', 'Ada Lovelace', 'lavender'],
  ['grace', 'Grace Hopper', 'sky'],
  ['hedy', 'Hedy Lamarr', 'coral'],
  ['emmy', 'Emmy Noether', 'mint'],
  ['lise', 'Lise Meitner', 'amber'],
] as const

type Shot = { name: string; path: string; ready: string; phone?: boolean; dark?: boolean; token?: boolean }

const shots: Shot[] = [
  { name: 'log-in', path: '/login', ready: 'New here?' },
  { name: 'register-dark-phone', path: '/register', ready: 'Step 1 of 2', phone: true, dark: true },
  { name: 'home', path: '/channels/@me', ready: 'This page', token: true },
  { name: 'home-dark-phone', path: '/channels/@me', ready: 'This page', phone: true, dark: true, token: true },
  { name: 'users', path: '/admin/users', ready: '@grace', token: true },
  { name: 'settings', path: '/admin/settings', ready: 'Current rules', token: true },
  { name: 'invites', path: '/admin/invites', ready: 'Reading circle', token: true },
  { name: 'api', path: '/api/docs', ready: 'Register an account', dark: true, token: true },
]

await using servers = await startRunEnvironment()
Object.assign(process.env, servers.variables)
const { launchChromium } = await import('@gatehouse/test-kit')
const { postJson, startInstance } = await import('./start-instance.ts')
await using instance = await startInstance('chat')
await using browser = await launchChromium()
const token = await fill(instance)
for (const shot of shots) await take(browser, instance, shot, token)

/** Registers the people, the first as admin; gives the admin's token. */
async function fill(instance: Instance): Promise<string> {
  const tokens: string[] = []
  for (const [username, displayName, avatarColor] of people) {
    const reply = await postJson(instance, '/api/auth/register', { username, password, displayName, avatarColor })
    tokens.push(((await reply.json()) as { token: string }).token)
  }
  const [admin = ''] = tokens
  for (const [friend] of people.slice(1)) await instance.addFriendship('ada', friend)
  await answered(
    postJson(instance, '/api/admin/invites', { name: 'Reading circle', maxUses: 12, expiresAt: null }, admin),
  )
  await answered(postJson(instance, '/api/admin/invites', { name: 'Choir', maxUses: 40, expiresAt: null }, admin))
  await instance.runSql("update instance_settings set instance_name = 'The Analytical Engine'")
  await instance.runSql("update users set bio = 'Notes on engines, and on what they may weave.' where username = 'ada'")
  return admin
}

async function take(browser: Browser, instance: Instance, shot: Shot, token: string): Promise<void> {
  const context = await browser.newContext({
    colorScheme: shot.dark ? 'dark' : 'light',
    viewport: shot.phone ? { width: 390, height: 844 } : { width: 1280, height: 860 },
    deviceScaleFactor: shot.phone ? 2 : 1,
    reducedMotion: 'reduce',
    locale: 'en',
  })
  const page: Page = await context.newPage()
  if (shot.token) await page.addInitScript((kept) => localStorage.setItem('service_token', kept), token)
  await page.goto(instance.origin + shot.path)
  await page.getByText(shot.ready).first().waitFor()
  await page.evaluate(() => document.fonts.ready)
  await sharp(await page.screenshot())
    .webp({ quality: 82 })
    .toFile(join(images, `${shot.name}.webp`))
  await context.close()
}
