export { launchFirefox } from './firefox.ts'
export { launchWebKit } from './webkit.ts'
export type { WebDriver } from './web-driver.ts'
