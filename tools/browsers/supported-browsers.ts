/**
 * The oldest versions in which the web app and the client library run. Both builds compile to them, and lint and
 * test/browser/older-browsers.test.ts take away what they lack. docs/operate/choose-a-setup.md says the rule for choosing them.
 */
export const supportedBrowsers = { chrome: '117', edge: '117', firefox: '125', safari: '17.0', ios: '17.0' }

/** As Vite takes it, for scripts and styles. */
export const buildTarget = Object.entries(supportedBrowsers).map(([name, version]) => name + version)
