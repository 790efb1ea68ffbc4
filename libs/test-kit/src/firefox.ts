import { mkdirSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { readFirstBytes, startConfiguredServer, type LocalServer } from '@gatehouse/local-servers'
import { commands, type WebDriver, type WebDriverError } from './web-driver.ts'

const preferencesOf = (port: number) => ({
  'marionette.port': port,
  'ui.prefersReducedMotion': 1,
  'intl.accept_languages': 'en-US',
  // Takes the style of the window from the profile.
  'toolkit.legacyUserProfileCustomizations.stylesheets': true,
  // No page is open for as long as optimised code needs to pay.
  'javascript.options.ion': false,
  // One process for all pages.
  'fission.autostart': false,
  'dom.ipc.processCount': 1,
  'dom.ipc.processPrelaunch.enabled': false,
  'browser.tabs.remote.separatePrivilegedContentProcess': false,
})

/** The window may be as narrow as a phone. */
const style = ':root { min-width: 0 !important; }'

function startFirefox(): Promise<LocalServer> {
  return startConfiguredServer({
    program: 'firefox-esr',
    config: (port, folder) => {
      const preferences = Object.entries(preferencesOf(port)).map(([name, value]) => {
        return `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`
      })
      mkdirSync(join(folder, 'chrome'))
      writeFileSync(join(folder, 'user.js'), preferences.join(''))
      writeFileSync(join(folder, 'chrome/userChrome.css'), style)
      return ''
    },
    args: (_port, folder) => ['--marionette', '--headless', '--no-remote', '--profile', folder],
    env: (folder) => ({ HOME: folder, MOZ_CRASHREPORTER_DISABLE: '1' }),
    url: (port) => `tcp://127.0.0.1:${port}`,
    isReady: async (port) => (await readFirstBytes(port)) !== '',
  })
}

/**
 * Starts a headless Firefox. It is driven over Marionette, its own form of WebDriver: Debian has no program that takes
 * HTTP for it. Throws with the remedy when there is no Firefox.
 */
export async function launchFirefox(): Promise<WebDriver> {
  await using opening = new AsyncDisposableStack()
  const firefox = opening.use(await startFirefox())
  const socket = opening.adopt(connect(firefox.port, '127.0.0.1'), (open) => void open.destroy())
  const call = openMarionette(socket)
  await call('WebDriver:NewSession', {})
  const open = opening.move()
  return {
    send: async (command, parameters = {}) => {
      const result = await call(commands[command][0], parameters)
      return result.value ?? null
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

type Reply = [kind: 1, id: number, error: WebDriverError | null, result: { value?: unknown }]

/** One call after the other. A message is its length in bytes, a colon and JSON. */
function openMarionette(socket: Socket): (name: string, parameters: object) => Promise<Reply[3]> {
  const messages = readMessages(socket)
  const greeting = messages.next()
  let id = 0
  return async (name, parameters) => {
    await greeting
    const text = JSON.stringify([0, (id += 1), name, parameters])
    socket.write(`${Buffer.byteLength(text)}:${text}`)
    const { value } = await messages.next()
    if (!value) throw new Error(`${name}: Firefox has ended`)
    const [, , error, result] = JSON.parse(value) as Reply
    if (error) throw new Error(`${name}: ${error.error} ${error.message}`)
    return result
  }
}

async function* readMessages(socket: Socket): AsyncGenerator<string, undefined> {
  let bytes = Buffer.alloc(0)
  for await (const chunk of socket) {
    bytes = Buffer.concat([bytes, chunk as Buffer])
    for (;;) {
      const start = bytes.indexOf(':') + 1
      const end = start + Number(bytes.subarray(0, start - 1))
      if (start === 0 || bytes.length < end) break
      yield bytes.toString('utf8', start, end)
      bytes = bytes.subarray(end)
    }
  }
}
