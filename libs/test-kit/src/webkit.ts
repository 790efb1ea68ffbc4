import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readFirstBytes, startConfiguredServer, type LocalServer } from '@gatehouse/local-servers'
import { commands, type WebDriver, type WebDriverError } from './web-driver.ts'

/** A display in memory, with room for a whole page. Its number is that of the port. */
function startDisplay(): Promise<LocalServer> {
  return startConfiguredServer({
    program: 'xvfb',
    config: () => '',
    args: (port) => [`:${port}`, '-screen', '0', '1600x6000x24', '-nolisten', 'tcp'],
    url: (port) => `:${port}`,
    isReady: async (port) => existsSync(`/tmp/.X11-unix/X${port}`),
  })
}

/** A window as narrow as a phone has no room for the margins of the toolbar. */
const style = '* { margin: 0; padding: 0; min-width: 0; }'
const settings = '[Settings]\ngtk-enable-animations=0\n'

/** The driver of WebKitGTK, whose browsers have a folder of their own and no session bus. */
function startDriver(display: string, takesPictures: boolean): Promise<LocalServer> {
  return startConfiguredServer({
    program: 'webkit2gtk-driver',
    config: (_port, folder) => {
      mkdirSync(join(folder, 'gtk-3.0'))
      writeFileSync(join(folder, 'gtk-3.0/gtk.css'), style)
      writeFileSync(join(folder, 'gtk-3.0/settings.ini'), settings)
      return ''
    },
    args: (port) => [`--port=${port}`, '--host=127.0.0.1'],
    env: (folder) => ({
      DISPLAY: display,
      // No page is open for as long as optimised code needs to pay.
      JSC_useDFGJIT: '0',
      // Without this renderer pages cost less, and a screenshot is never answered.
      ...(!takesPictures && { WEBKIT_DISABLE_DMABUF_RENDERER: '1' }),
      GDK_BACKEND: 'x11',
      GSETTINGS_BACKEND: 'memory',
      DBUS_SESSION_BUS_ADDRESS: 'disabled:',
      NO_AT_BRIDGE: '1',
      LANG: 'en_US.UTF-8',
      LC_ALL: 'en_US.UTF-8',
      HOME: folder,
      XDG_CONFIG_HOME: folder,
      XDG_CACHE_HOME: folder,
      XDG_DATA_HOME: folder,
    }),
    url: (port) => `http://127.0.0.1:${port}`,
    isReady: async (port) => (await readFirstBytes(port, 'GET /status HTTP/1.1\r\n\r\n')) !== '',
  })
}

/** Starts WebKitGTK on a display of its own. Throws with the remedy when a program is missing. */
export async function launchWebKit({ takesPictures = false } = {}): Promise<WebDriver> {
  await using opening = new AsyncDisposableStack()
  const display = opening.use(await startDisplay())
  const driver = opening.use(await startDriver(display.url, takesPictures))
  const session = (await sendRequest('POST', `${driver.url}/session`, { capabilities: {} })) as { sessionId: string }
  const url = `${driver.url}/session/${session.sessionId}`
  opening.defer(async () => void (await sendRequest('DELETE', url)))
  const open = opening.move()
  return {
    send: (command, parameters = {}) => {
      const [method = '', path = ''] = commands[command][1].split(' ')
      const { id = '', ...body } = parameters
      return sendRequest(method, url + path.replace('{id}', id), body)
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

async function sendRequest(method: string, url: string, body: object = {}): Promise<unknown> {
  const response = await fetch(url, { method, ...(method === 'POST' && { body: JSON.stringify(body) }) })
  const { value } = (await response.json()) as { value: unknown }
  if (response.ok) return value
  const { error, message } = value as WebDriverError
  throw new Error(`${method} ${url}: ${error} ${message}`)
}
