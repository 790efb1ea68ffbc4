// npm run screenshots [-- docs] [-- de.phone.dark ...]: every page of a living instance, in each language, width and theme or in those named, in .gatehouse/screenshots; with `docs` the pictures in docs/images too.
// npm run screenshots -- firefox webkit: every page in the engines named, at the width of a laptop and of a phone.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { answered, eventually } from '@gatehouse/test-kit'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import sharp from 'sharp'
import { startRunEnvironment } from '../../libs/test-kit/src/run-environment.ts'
import { ensurePrograms } from '../../tools/setup/programs.js'
import { dataFolder } from '../../tools/setup/project.js'
import type { WebDriver } from '@gatehouse/test-kit/engines'
import { openEnginePage } from './engine-page.ts'
import type { Instance } from './start-instance.ts'

const folder = join(dataFolder(), 'screenshots')
const images = join(import.meta.dirname, '../../docs/images')
const password = 'a long password'
const people = [
  ['ada', 'Ada Lovelace', 'lavender'],
  ['grace', 'Grace Hopper', 'sky'],
  ['hedy', 'Hedy Lamarr', 'coral'],
  ['emmy', 'Emmy Noether', 'mint'],
  ['lise', 'Lise Meitner', 'amber'],
  ['rear_admiral', 'A name as long as one may choose', 'rose'],
  ['fatima', 'فاطمة الفهرية', 'teal'],
] as const

const publicPaths = [
  '/login',
  '/register',
  '/register?invite=unknown',
  '/recover#1.x',
  '/forgot',
  '/confirm-email#token=x',
  '/sign-in#error=cancelled',
  '/authorize#error=invalid_client',
  '/no-such-page',
]
const accountPaths = [
  '/channels/@me',
  ...['profile', 'security', 'sessions', 'instances', 'applications', 'invites', 'data', 'leave'].map(
    (part) => `/settings/${part}`,
  ),
]

/** What applications of `fill` ask the person, by the name of the picture. */
const askedPlaces: Place[] = [
  ...(['consent', 'login'] as const).map((prompt) => ({ name: `authorize-${prompt}`, path: authorizePath(prompt) })),
  { name: 'device', path: '/device' },
]

const engineWidths = [1366, 390]

/** `isSent`: with its form sent, as a person does. */
type Place = { name: string; path: string; isSent?: true }

type Look = { theme: 'light' | 'dark'; width: number; height: number; language: string }

const sizes = [
  { width: 1366, height: 768 },
  { width: 360, height: 640 },
]
const looks: Look[] = (['en', 'de'] as const).flatMap((language) =>
  sizes.flatMap((size) => (['light', 'dark'] as const).map((theme) => ({ ...size, theme, language }))),
)

type Picture = { name: string; path: string; look: Partial<Look>; isPublic?: boolean }

/** Those that README and the docs show. */
const pictures: Picture[] = [
  { name: 'log-in', path: '/login', look: {}, isPublic: true },
  { name: 'register-dark-phone', path: '/register', look: { theme: 'dark', width: 360 }, isPublic: true },
  { name: 'home', path: '/channels/@me', look: {} },
  { name: 'home-dark-phone', path: '/channels/@me', look: { theme: 'dark', width: 360 } },
  { name: 'security', path: '/settings/security', look: {} },
  { name: 'overview', path: '/admin', look: {} },
  { name: 'users', path: '/admin/users', look: {} },
  { name: 'settings', path: '/admin/settings', look: {} },
  { name: 'invites', path: '/admin/invites', look: {} },
  { name: 'federation', path: '/admin/federation', look: {} },
  { name: 'api', path: '/api/docs', look: { theme: 'dark' } },
]

await using servers = await startRunEnvironment()
Object.assign(process.env, servers.variables)
const { launchChromium } = await import('@gatehouse/test-kit/browser')
const { launchFirefox, launchWebKit } = await import('@gatehouse/test-kit/engines')
const { postJson, startInstance } = await import('./start-instance.ts')
const engines = {
  firefox: { launch: launchFirefox, programs: ['firefox-esr'] },
  webkit: { launch: () => launchWebKit({ takesPictures: true }), programs: ['webkit2gtk-driver', 'xvfb'] },
} as const
await using instance = await startInstance('chat', { smtpUrl: 'smtp://127.0.0.1:9' })
await using browser = await launchChromium()
const tokens = await fill(instance)
askedPlaces.push({ name: 'device-consent', path: `/device?user_code=${await startDevice(instance)}`, isSent: true })
const sockets = tokens.slice(1, 4).map((token) => goOnline(instance, token))
await rm(folder, { recursive: true, force: true })
await mkdir(folder, { recursive: true })
const files: string[] = []
const selection = process.argv.slice(2).filter((word) => word !== 'docs')
for (const look of looks) if (selection.length === 0 || selection.includes(nameOf(look))) await takeAll(browser, look)
for (const [engine, { launch, programs }] of Object.entries(engines)) {
  if (!selection.includes(engine)) continue
  await ensurePrograms([...programs])
  await takeInEngine(engine, launch)
}
await writeFile(join(folder, 'index.html'), listPictures(files))
if (process.argv.includes('docs')) for (const picture of pictures) await takePicture(browser, picture)
for (const socket of sockets) socket.close()
process.stdout.write(`${files.length} pictures: ${join(folder, 'index.html')}\n`)

/** Registers the people, the first as admin; gives their tokens. */
async function fill(instance: Instance): Promise<string[]> {
  const tokens: string[] = []
  for (const [username, displayName, avatarColor] of people) {
    const person = { username, password, displayName, avatarColor }
    const reply = await answered(postJson(instance, '/api/auth/register', person))
    tokens.push(((await reply.json()) as { token: string }).token)
  }
  for (const [friend] of people.slice(1)) await instance.addFriendship('ada', friend)
  for (const [name, maxUses] of [
    ['Reading circle', 12],
    ['Choir', 40],
  ]) {
    await answered(postJson(instance, '/api/admin/invites', { name, maxUses, expiresAt: null }, tokens[0]))
  }
  await instance.runSql(
    "update instance_settings set instance_name = 'The Analytical Engine', member_invites = 5, openid_enabled = true",
  )
  await instance.runSql("update invites set by_member = true where name = 'Choir'")
  await instance.runSql(
    `insert into emails (user_id, address, key, language, notices, confirmed_at)
     select id, 'ada@engine.example', 'ada@engine.example', 'en', true, now() from users where username = 'ada'`,
  )
  await instance.runSql(
    `insert into registrations (id, receipt_hash, created_at, username, reason, network, client)
     select n, n, now() - n * interval '7 minutes', 'visitor_' || n,
       case n when 3 then 'Charles told me of your engine, and I weave.' else 'I like to meet people and share offers.' end,
       case n when 3 then '192.0.2.7' else '198.51.100.' || n / 5 end, case n when 3 then 'Firefox on Linux' end
     from generate_series(1, 12) n`,
  )
  await instance.runSql("update users set bio = 'Notes on engines, and on what they may weave.' where username = 'ada'")
  await instance.runSql(
    `insert into peers (id, origin, host, secret, status, activated_at)
     values (1, 'https://loom.example', 'loom.example', 'none', 'active', now()),
       (2, 'https://chess.example', 'chess.example', 'none', 'revoked', now())`,
  )
  await instance.runSql(
    `insert into applications (id, name, type, secret_hash, redirect_uris, post_logout_redirect_uris, skip_consent, access_tokens, device_grant,
       created_at)
     values (1, 'Punched cards wiki', 'confidential', 'x', '["https://wiki.engine.example/callback"]', '[]', false, 'opaque', false, now()),
       (2, 'Card reader', 'public', null, '[]', '[]', false, 'opaque', true, now())`,
  )
  await instance.runSql(
    `insert into application_consents (account_id, application_id, scopes, granted_at)
     select id, 1, '["openid", "profile"]', now() from users where username = 'ada'`,
  )
  const now = Date.now()
  const entry = (origin: string, label: string) => ({
    origin,
    label,
    username: 'ada',
    remoteUserId: '1',
    status: 'connected',
    addedAt: now,
    lastConnectedAt: now - 7_200_000,
    disconnectedAt: null,
    errorMessage: null,
  })
  await answered(
    fetch(`http://127.0.0.1:${instance.port}/api/users/@me/federation-registry`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${tokens[0]}`, 'content-type': 'application/json' },
      body: JSON.stringify({ registry: [entry('https://loom.example', 'The Loom')], updatedAt: now }),
    }),
  )
  return tokens
}

/** Gives the code that a device shows. */
async function startDevice(instance: Instance): Promise<string> {
  const body = new URLSearchParams({ client_id: '2', scope: 'openid profile' })
  const url = `http://127.0.0.1:${instance.port}/oauth2/device/auth`
  const reply = await eventually('applications are on', async () => {
    const response = await fetch(url, { method: 'POST', body })
    return response.ok ? response : null
  })
  return ((await reply.json()) as { user_code: string }).user_code
}

function authorizePath(prompt: string): string {
  const parameters = {
    response_type: 'code',
    client_id: '1',
    redirect_uri: 'https://wiki.engine.example/callback',
    prompt,
    scope: 'openid profile',
    code_challenge_method: 'S256',
    code_challenge: 'x'.repeat(43),
  }
  return `/oauth2/auth?${new URLSearchParams(parameters).toString()}`
}

function goOnline(instance: Instance, token: string): WebSocket {
  const socket = new WebSocket(`ws://127.0.0.1:${instance.port}/ws`)
  socket.addEventListener('open', () => socket.send(JSON.stringify({ type: 'auth', token })))
  return socket
}

function nameOf({ language, width, theme }: Look): string {
  return `${language}.${width < 600 ? 'phone' : 'desktop'}.${theme}`
}

function openContext(browser: Browser, { theme, width, height, language }: Look): Promise<BrowserContext> {
  return browser.newContext({
    colorScheme: theme,
    viewport: { width, height },
    reducedMotion: 'reduce',
    locale: language,
  })
}

async function keepToken(page: Page): Promise<void> {
  await page.addInitScript((value) => localStorage.setItem('service_token', value), tokens[0] ?? '')
}

async function show(page: Page, path: string, isSent = false): Promise<void> {
  await page.goto('about:blank')
  await page.goto(instance.origin + path, { waitUntil: 'load' })
  if (isSent) await page.locator('form [type=submit]').click()
  if (isSent) await page.locator('.asked-scopes').waitFor()
  await page.locator('h1').first().waitFor({ state: 'attached' })
  await page.locator('.skeleton').first().waitFor({ state: 'detached' })
  await page.waitForLoadState('networkidle')
}

/** Where the picture with this name is, or of the page at this path. */
function fileOf(name: string, look: string): string {
  const place = name.replaceAll(/[^a-z]+/gi, '-').replaceAll(/^-|-$/g, '')
  return `${place}.${look}.webp`
}

async function takeAll(browser: Browser, look: Look): Promise<void> {
  const context = await openContext(browser, look)
  const page = await context.newPage()
  const take = async (path: string, { name = path, isSent = false } = {}) => {
    await show(page, path, isSent)
    const file = fileOf(name, nameOf(look))
    await savePicture(await page.screenshot({ fullPage: true }), join(folder, file))
    files.push(file)
  }
  for (const path of publicPaths) await take(path)
  await keepToken(page)
  for (const path of accountPaths) await take(path)
  for (const place of askedPlaces) await take(place.path, place)
  await show(page, '/admin')
  for (const href of await page.evaluate(listSections)) await take(href)
  await context.close()
}

/** Of the administration. Runs in the page. */
function listSections(): string[] {
  return [...document.querySelectorAll('nav.tabs a')].map((link) => link.getAttribute('href') ?? '')
}

/** An engine takes pictures of its window alone, which is made as high as the page. */
async function takeInEngine(engine: string, launch: () => Promise<WebDriver>): Promise<void> {
  await using driver = await launch()
  const page = openEnginePage(driver)
  const take = async (path: string, { name = path, isSent = false } = {}) => {
    await page.goTo(instance.origin + path)
    if (isSent) await page.click('Continue')
    if (isSent) await page.see('A device wants to use your account.')
    for (const width of engineWidths) {
      const file = fileOf(name, `${engine}.${width}`)
      await savePicture(await page.takePicture(width), join(folder, file))
      files.push(file)
    }
  }
  for (const path of publicPaths) await take(path)
  await page.run((token) => localStorage.setItem('service_token', token), tokens[0] ?? '')
  for (const path of accountPaths) await take(path)
  for (const place of askedPlaces) await take(place.path, place)
  await page.goTo(`${instance.origin}/admin`)
  await page.see('Audit log')
  for (const href of await page.run(listSections)) await take(href)
}

async function takePicture(browser: Browser, { name, path, look, isPublic = false }: Picture): Promise<void> {
  const size = look.width ? sizes[1] : sizes[0]
  const context = await openContext(browser, {
    theme: 'light',
    language: 'en',
    width: 1366,
    height: 768,
    ...size,
    ...look,
  })
  const page = await context.newPage()
  if (!isPublic) await keepToken(page)
  await show(page, path)
  await savePicture(await page.screenshot(), join(images, `${name}.webp`))
  await context.close()
}

async function savePicture(png: Buffer, file: string): Promise<void> {
  await sharp(png).webp({ quality: 78 }).toFile(file)
}

/** A page each, with all its looks beside each other. */
function listPictures(files: string[]): string {
  const places = [...new Set(files.map((file) => file.split('.')[0] ?? ''))]
  const rows = places.map((place) => {
    const shown = files.filter((file) => file.startsWith(`${place}.`))
    const looks = shown.map((file) => `<a href="${file}"><img loading="lazy" src="${file}" alt="${file}"></a>`)
    return `<h2>${place}</h2><p>${looks.join('')}</p>`
  })
  const style =
    'body{font:1rem system-ui;margin:1rem}img{height:24rem;margin:.25rem;border:1px solid #888;vertical-align:top}'
  return `<!doctype html><meta charset="utf-8"><title>Gatehouse: all pages</title><style>${style}</style>${rows.join('')}`
}
