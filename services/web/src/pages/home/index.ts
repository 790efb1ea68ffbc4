export { HomePage } from './home-page.tsx'
export { NewPasswordPage } from './new-password-page.tsx'
