/** Commands of W3C WebDriver that tests use: the name that Firefox has for each, and its method and path in HTTP. */
export const commands = {
  navigate: ['WebDriver:Navigate', 'POST /url'],
  execute: ['WebDriver:ExecuteScript', 'POST /execute/sync'],
  click: ['WebDriver:ElementClick', 'POST /element/{id}/click'],
  clear: ['WebDriver:ElementClear', 'POST /element/{id}/clear'],
  type: ['WebDriver:ElementSendKeys', 'POST /element/{id}/value'],
  resize: ['WebDriver:SetWindowRect', 'POST /window/rect'],
  screenshot: ['WebDriver:TakeScreenshot', 'GET /element/{id}/screenshot'],
} as const satisfies Record<string, readonly [name: string, route: string]>

/** A browser with one window. Dispose ends it. */
export type WebDriver = AsyncDisposable & {
  /** Gives the value of the command. Throws with the browser's words. */
  send: (command: keyof typeof commands, parameters?: { id?: string; [name: string]: unknown }) => Promise<unknown>
}

/** As a browser describes what is wrong with a command. */
export type WebDriverError = { error: string; message: string }
